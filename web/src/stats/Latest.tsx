import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { Card } from "../ui/Card";
import { When } from "../ui/When";
import styles from "./Latest.module.css";
import type { NewClick, Now } from "./live";
import { useNames } from "./names";

const SHOWN = 6;

/** The last clicks, as they come. */
export function Latest(props: { now: Now | null; isOfMany: boolean }) {
  const words = useTexts(texts);
  const clicks = props.now?.newest.slice(0, SHOWN) ?? [];
  return (
    <Card title={words.latest} isFull>
      {clicks.length === 0 ? (
        <p className={styles.none}>{words.noLatest}</p>
      ) : (
        <ul className={styles.clicks}>
          {keyed(clicks).map(([key, click]) => (
            <Click key={key} click={click} isOfMany={props.isOfMany} />
          ))}
        </ul>
      )}
    </Card>
  );
}

/** By their instant, and by which one of it. */
function keyed(clicks: readonly NewClick[]): [string, NewClick][] {
  const seen = new Map<string, number>();
  return clicks.map((click) => {
    const number = seen.get(click.at) ?? 0;
    seen.set(click.at, number + 1);
    return [`${click.at} ${number}`, click];
  });
}

function Click({ click, isOfMany }: { click: NewClick; isOfMany: boolean }) {
  const words = useTexts(texts);
  const names = useNames();
  const isPerson = click.kind === "person";
  const from = [
    click.country && names.country(click.country),
    click.referrer && words.via(click.referrer),
    [click.browser, click.system].filter(Boolean).join(", "),
  ].filter(Boolean);
  const who = isPerson ? from : [names.sort(click.kind), click.browser].filter(Boolean);
  return (
    <li data-bot={!isPerson || undefined}>
      {isOfMany && click.short_code && (
        <span className={`mono truncate ${styles.code}`}>/{click.short_code}</span>
      )}
      <span className={`truncate ${styles.who}`}>{who.join(" · ") || words.person}</span>
      <When at={click.at} />
    </li>
  );
}
