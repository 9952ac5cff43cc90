import { useState } from "react";
import { temporaryHours } from "../api/server";
import { home } from "../strings/home";
import { useTexts } from "../strings/language";
import { CopyButton } from "../ui/CopyButton";
import { useNow, useSpan } from "../ui/format";
import { IconButton } from "../ui/IconButton";
import { bare } from "../ui/urls";
import styles from "./HomePage.module.css";
import { QrBelow } from "./QrBelow";
import { type Remembered, useRemembered } from "./remembered";

/** `shownAbove`: the link that was just made stands above the list. */
export function RememberedLinks({ shownAbove }: { shownAbove: string | undefined }) {
  const words = useTexts(home);
  const now = useNow();
  const links = useRemembered(now).filter((link) => link.short_url !== shownAbove);
  if (links.length === 0) return null;
  return (
    <section className={styles.remembered}>
      <h2>{words.yours}</h2>
      <p>
        {words.yoursHint(words.hours(temporaryHours))} <a href="/app/sign-up">{words.signUp}</a>
      </p>
      <ul>
        {links.map((link) => (
          <Row key={link.short_url} link={link} now={now} />
        ))}
      </ul>
    </section>
  );
}

function Row({ link, now }: { link: Remembered; now: number }) {
  const words = useTexts(home);
  const span = useSpan();
  const [isQrShown, setQrShown] = useState(false);
  return (
    <li>
      <div className={styles.row}>
        <a href={link.short_url} className="mono truncate">
          {bare(link.short_url)}
        </a>
        <span className={`truncate ${styles.long}`} title={link.original_url}>
          {bare(link.original_url)}
        </span>
        <span className={styles.left}>{words.expiresIn(span(new Date(link.expires_at), now))}</span>
        <span className={styles.rowActs}>
          <CopyButton isSmall text={link.short_url} label={words.copyOf(link.short_url)} />
          <IconButton
            icon="qr"
            label={words.qrOf(link.short_url)}
            isExpanded={isQrShown}
            onClick={() => setQrShown(!isQrShown)}
          />
        </span>
      </div>
      {isQrShown && <QrBelow link={link} />}
    </li>
  );
}
