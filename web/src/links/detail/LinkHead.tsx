import { type ReactNode, useState } from "react";
import { Link as To } from "wouter";
import { pathIn } from "../../app/space";
import { useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { CopyButton } from "../../ui/CopyButton";
import { useNow } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { StatusBadge } from "../../ui/StatusBadge";
import { useTitle } from "../../ui/title";
import { bare } from "../../ui/urls";
import { When } from "../../ui/When";
import { QrDialog } from "../QrDialog";
import type { Link } from "../queries";
import type { Runner } from "../running";
import { LinkActs } from "./LinkActs";
import styles from "./LinkHead.module.css";
import { useWhich } from "./queries";

interface Props {
  link: Link;
  runner: Runner;
  children: ReactNode;
}

/** The short URL, what to do with it, and where it leads. `children`: more to do. */
export function LinkHead({ link, runner, children }: Props) {
  const words = useTexts(texts);
  const { workspaceId } = useWhich();
  const [hasQr, setQr] = useState(false);
  useTitle(`/${link.short_code}`);
  return (
    <header className={styles.head}>
      <To href={pathIn(workspaceId, "/links")} className={styles.back ?? ""}>
        <Icon name="back" size={16} />
        {words.toAll}
      </To>
      <div className={styles.top}>
        <h1 className="mono">{bare(link.short_url)}</h1>
        <div className={styles.signs}>
          <CopyButton isSmall text={link.short_url} label={words.copy} />
          <IconButton icon="qr" label={words.qr} onClick={() => setQr(true)} />
          <a
            className={styles.open}
            href={link.short_url}
            target="_blank"
            rel="noreferrer"
            aria-label={words.open}
            title={words.open}
          >
            <Icon name="open" size={18} />
          </a>
        </div>
        <div className={styles.acts}>
          {children}
          <LinkActs link={link} runner={runner} />
        </div>
      </div>
      <About link={link} />
      {hasQr && <QrDialog link={link} onClose={() => setQr(false)} />}
    </header>
  );
}

function About({ link }: { link: Link }) {
  const words = useTexts(texts);
  const now = useNow();
  const { workspaceId } = useWhich();
  return (
    <>
      {link.title && <p className={styles.title}>{link.title}</p>}
      <p className={styles.destination}>
        <span aria-hidden="true">→</span>
        <a href={link.original_url} rel="noreferrer nofollow" title={link.original_url}>
          {bare(link.original_url)}
        </a>
      </p>
      <div className={styles.facts}>
        <StatusBadge status={link.status} />
        <span>
          {words.created} <When at={link.created_at} />
        </span>
        {link.expires_at && link.status === "ACTIVE" && (
          <span>
            {Date.parse(link.expires_at) <= now ? words.EXPIRED : words.expires}{" "}
            <When at={link.expires_at} />
          </span>
        )}
        {link.tags.map((tag) => (
          <To
            key={tag}
            href={pathIn(workspaceId, `/links?tag=${encodeURIComponent(tag)}`)}
            className={`truncate ${styles.tag}`}
            title={tag}
          >
            {tag}
          </To>
        ))}
      </div>
      {link.notes && <p className={styles.notes}>{link.notes}</p>}
    </>
  );
}
