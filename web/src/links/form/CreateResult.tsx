import { Button } from "@mantine/core";
import { Suspense, useEffect, useRef, useState } from "react";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { CopyButton } from "../../ui/CopyButton";
import { useNow, useSpan } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { lazily } from "../../ui/lazily";
import { bare } from "../../ui/urls";
import type { Link } from "../queries";
import type { Made } from "./CreateQuery";
import styles from "./LinkForm.module.css";
import { LinkFormModal } from "./LinkFormModal";

const Qr = lazily(() => import("../../ui/Qr"));

interface Props {
  made: Made;
  another: () => void;
  edit: () => void;
  onClose: () => void;
}

/** The new link, selected, with the copy button ready for Enter. */
export function CreateResult({ made: { link, isNew }, ...acts }: Props) {
  const words = useTexts(texts);
  const [isQrShown, setQrShown] = useState(false);
  const short = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    if (short.current) getSelection()?.selectAllChildren(short.current);
  }, []);
  return (
    <LinkFormModal onClose={acts.onClose} title={words.ready}>
      <section className={styles.form} aria-label={words.ready}>
        <div className={styles.fields}>
          {!isNew && (
            <p className={styles.existed} role="status">
              <Icon name="done" size={18} />
              {words.existed}
            </p>
          )}
          <div className={styles.short}>
            <a ref={short} href={link.short_url} className="mono">
              {bare(link.short_url)}
            </a>
            <CopyFocused text={link.short_url} />
          </div>
          <About link={link} />
          {isQrShown && (
            <Suspense fallback={null}>
              <Qr url={link.short_url} name={link.short_code} />
            </Suspense>
          )}
        </div>
        <div className={styles.acts}>
          <span className={styles.side}>
            <Button
              variant="default"
              leftSection={<Icon name="qr" size={18} />}
              aria-expanded={isQrShown}
              onClick={() => setQrShown(!isQrShown)}
            >
              {words.qr}
            </Button>
            <Button variant="default" onClick={acts.edit}>
              {words.editIt}
            </Button>
          </span>
          <Button variant="default" onClick={acts.another}>
            {words.another}
          </Button>
          <Button variant="default" onClick={acts.onClose}>
            {words.done}
          </Button>
        </div>
      </section>
    </LinkFormModal>
  );
}

/** Where it leads, and for how long. */
function About({ link }: { link: Link }) {
  const words = useTexts(texts);
  const span = useSpan();
  const now = useNow();
  return (
    <>
      <p className={styles.leads} title={link.original_url}>
        {words.leadsTo} <span className="mono truncate">{bare(link.original_url)}</span>
      </p>
      <p className={styles.life}>
        <Icon name="clock" size={16} />
        {link.expires_at ? words.expiresIn(span(new Date(link.expires_at), now)) : words.stays}
      </p>
      {link.held_at && (
        <p className={styles.held}>
          <Icon name="warn" size={16} />
          {words.held}
        </p>
      )}
    </>
  );
}

/** The dialog gives the focus to what stands first in it; here it is the button's. */
function CopyFocused({ text }: { text: string }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    const timer = window.setTimeout(() => button.current?.focus(), 50);
    return () => window.clearTimeout(timer);
  }, []);
  return <CopyButton ref={button} text={text} />;
}
