import type { ReactNode } from "react";
import type { Link } from "../links/queries";
import { useTexts } from "../strings/language";
import { link as texts } from "../strings/link";
import { Card } from "../ui/Card";
import { useFormats } from "../ui/format";
import { When } from "../ui/When";
import styles from "./Settings.module.css";

/** Every field of a link, to read. */
export function Settings({ link }: { link: Link }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const max = link.max_clicks;
  return (
    <Card title={words.settings}>
      <dl className={styles.settings}>
        <Row label={words.code}>
          <span className="mono">{link.short_code}</span>
        </Row>
        <Row label={words.domain}>
          <span className="mono">{new URL(link.short_url).host}</span>
        </Row>
        <Row label={words.strategy}>{words[`strategy_${link.strategy}`]}</Row>
        <Row label={words.redirect}>
          {link.redirect_status}{" "}
          <small>
            {[301, 308].includes(link.redirect_status) ? words.permanent : words.changeable}
          </small>
        </Row>
        <Row label={words.query}>{link.forward_query ? words.forwarded : words.notForwarded}</Row>
        <Row label={words.limit}>
          {max === null ? (
            words.noLimit
          ) : (
            <>
              {words.used(number(link.clicks_used), number(max))}
              <span className={styles.meter}>
                <span style={{ width: `${Math.min(100, (100 * link.clicks_used) / max)}%` }} />
              </span>
            </>
          )}
        </Row>
        <Row label={words.start}>
          {link.starts_at ? <When at={link.starts_at} /> : words.atOnce}
        </Row>
        <Row label={words.end}>{link.expires_at ? <When at={link.expires_at} /> : words.never}</Row>
        <Row label={words.type}>
          {link.link_type === "TEMPORARY" ? words.temporary : words.lasting}
        </Row>
        <Row label={words.madeAt}>
          <When at={link.created_at} />
        </Row>
        <Row label={words.changedAt}>
          <When at={link.updated_at} /> <small>{words.version(link.version)}</small>
        </Row>
        <Row label={words.id}>
          <span className="mono">{link.id}</span>
        </Row>
      </dl>
    </Card>
  );
}

function Row({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
