import { Link } from "wouter";
import { pathIn } from "../app/space";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { Card } from "../ui/Card";
import { Count } from "./Count";
import type { Report } from "./subject";
import styles from "./TopLinks.module.css";

const SHOWN = 10;

interface Props {
  links: NonNullable<Report["links"]>;
  /** Where their pages are; undefined: they may be anybody's. */
  workspaceId: number | null | undefined;
}

/** The most clicked by people; each leads to its page. */
export function TopLinks({ links, workspaceId }: Props) {
  const words = useTexts(texts);
  const most = Math.max(1, ...links.values.map(({ clicks }) => clicks));
  if (links.values.length === 0) return null;
  const shown = links.values.slice(0, SHOWN);
  const others = links.values.slice(SHOWN).reduce((sum, link) => sum + link.clicks, links.other);
  return (
    <Card title={words.topLinks} text={words.topLinksText} isFull>
      <ol className={styles.links}>
        {shown.map((link) => (
          <li key={link.id}>
            <span
              className={styles.fill}
              style={{ width: `calc((100% - 16px) * ${link.clicks / most})` }}
            />
            {workspaceId === undefined ? (
              <a href={link.short_url} className={`mono truncate ${styles.code}`}>
                /{link.short_code}
              </a>
            ) : (
              <Link
                href={pathIn(workspaceId, `/links/${link.id}`)}
                className={`mono truncate ${styles.code}`}
              >
                /{link.short_code}
              </Link>
            )}
            <span className={`truncate ${styles.title}`} title={link.title ?? undefined}>
              {link.title}
            </span>
            <b>
              <Count value={link.clicks} />
            </b>
          </li>
        ))}
        <Rest label={words.otherLinks} clicks={others} />
        <Rest label={words.goneLinks} clicks={links.gone} />
      </ol>
    </Card>
  );
}

function Rest({ label, clicks }: { label: string; clicks: number }) {
  if (clicks === 0) return null;
  return (
    <li data-dim>
      <span className={`truncate ${styles.title}`}>{label}</span>
      <b>
        <Count value={clicks} />
      </b>
    </li>
  );
}
