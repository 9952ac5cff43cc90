import { Link as PageLink } from "wouter";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { Icon } from "../../ui/Icon";
import { bare } from "../../ui/urls";
import type { Link } from "../queries";
import styles from "./LinkTable.module.css";

export function RowName({ link, path }: { link: Link; path: string }) {
  const words = useTexts(texts);
  return (
    <>
      <PageLink href={path} className="mono" data-main title={link.short_url}>
        /{link.short_code}
      </PageLink>
      <a
        href={link.short_url}
        target="_blank"
        rel="noreferrer"
        className={styles.open}
        aria-label={words.open(link.short_code)}
        title={words.open(link.short_code)}
      >
        <Icon name="open" size={14} />
      </a>
    </>
  );
}

export function Destination({ link, path }: { link: Link; path?: string }) {
  return (
    <div className={`truncate ${styles.destination}`} title={link.original_url}>
      {link.title && path !== undefined && (
        <PageLink href={path} tabIndex={-1}>
          {link.title}
        </PageLink>
      )}
      {link.title && path === undefined && <b>{link.title}</b>}
      {bare(link.original_url).slice(0, 300)}
    </div>
  );
}
