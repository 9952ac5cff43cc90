import { Button } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { home } from "../strings/home";
import { useTexts } from "../strings/language";
import { CopyButton } from "../ui/CopyButton";
import { useNow, useSpan } from "../ui/format";
import { Icon } from "../ui/Icon";
import { bare } from "../ui/urls";
import styles from "./HomePage.module.css";
import { QrBelow } from "./QrBelow";
import type { NewLink } from "./shorten";

/** The new link, selected, with the copy button ready for Enter. */
export function Result({ link }: { link: NewLink }) {
  const words = useTexts(home);
  const span = useSpan();
  const now = useNow();
  const [isQrShown, setQrShown] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const short = useRef<HTMLAnchorElement>(null);

  useEffect(() => {
    button.current?.focus();
    if (short.current) getSelection()?.selectAllChildren(short.current);
  }, []);

  return (
    <section className={styles.result} aria-label={words.ready}>
      <div className={styles.short}>
        <a ref={short} href={link.short_url} className="mono">
          {bare(link.short_url)}
        </a>
        <div className={styles.acts}>
          <CopyButton ref={button} text={link.short_url} />
          <Button
            variant="default"
            size="md"
            leftSection={<Icon name="qr" size={18} />}
            aria-expanded={isQrShown}
            onClick={() => setQrShown(!isQrShown)}
          >
            {words.qr}
          </Button>
        </div>
      </div>
      <p className={`truncate ${styles.leads}`}>
        {words.leadsTo} <span className="mono">{bare(link.original_url)}</span>
      </p>
      <p className={styles.life}>
        <Icon name="clock" size={16} />
        {link.expires_at ? (
          <>
            {words.expiresIn(span(new Date(link.expires_at), now))}
            {link.claim_token && <a href="/app/sign-up">{words.keepIt}</a>}
          </>
        ) : (
          words.stays
        )}
      </p>
      {isQrShown && <QrBelow link={link} />}
    </section>
  );
}
