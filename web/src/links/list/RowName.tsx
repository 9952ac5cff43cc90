import { Checkbox } from "@mantine/core";
import { memo } from "react";
import { Link as PageLink } from "wouter";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { CopyButton } from "../ui/CopyButton";
import { useFormats, useNow } from "../ui/format";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { StatusBadge } from "../ui/StatusBadge";
import { bare } from "../ui/urls";
import { When } from "../ui/When";
import styles from "./LinkTable.module.css";
import type { Link } from "./queries";
import { RowCheck } from "./RowCheck";
import { RowMenu } from "./RowMenu";
import { RowTags } from "./RowTags";

/** What a row asks the page for. Those that are missing are not for this reader. */
export interface RowActs {
  onTag: (tag: string) => void;
  onQr: (link: Link) => void;
  onEdit?: (link: Link) => void;
  onPause?: (link: Link) => void;
  onResume?: (link: Link) => void;
  onRevive?: (link: Link) => void;
  onDelete?: (link: Link) => void;
}

interface Props {
  link: Link;
  path: string;
  isSelected: boolean;
  onSelect: (link: Link, isRange: boolean) => void;
  acts: RowActs;
}

/** One link. Drawn again only if something about it has changed. */
export const Row = memo(function Row({ link, path, isSelected, onSelect, acts }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  return (
    <tr data-row={link.id} data-selected={isSelected || undefined}>
      <td className={styles.pick}>
        <RowBox link={link} isSelected={isSelected} onSelect={onSelect} />
      </td>
      <td className={styles.link}>
        <div className={styles.code}>
          <RowName link={link} path={path} />
          <RowTags tags={link.tags} onTag={acts.onTag} />
        </div>
        <Destination link={link} path={path} />
      </td>
      <td className={styles.status}>
        <StatusBadge status={link.status} />
        <RowCheck link={link} />
      </td>
      <td className={styles.number} data-label={words.clicks}>
        {number(link.redirect_count)}
      </td>
      <td className={styles.made}>
        <When at={link.created_at} />
      </td>
      <End at={link.expires_at} />
      <td className={styles.acts}>
        <div>
          <CopyButton isSmall text={link.short_url} label={words.copyOf(link.short_code)} />
          <span className={styles.second}>
            <IconButton
              icon="qr"
              label={words.qrOf(link.short_code)}
              onClick={() => acts.onQr(link)}
            />
          </span>
          <RowMenu link={link} path={path} acts={acts} />
        </div>
      </td>
    </tr>
  );
});

function End({ at }: { at: string | null }) {
  const words = useTexts(texts);
  const now = useNow();
  const isOver = at !== null && Date.parse(at) <= now;
  return (
    <td
      className={styles.when}
      data-label={isOver ? words.expired : words.expires}
      data-none={at === null || undefined}
    >
      {at === null ? words.never : <When at={at} />}
    </td>
  );
}

export function RowBox({ link, isSelected, onSelect }: Omit<Props, "path" | "acts">) {
  const words = useTexts(texts);
  return (
    <Checkbox
      size="sm"
      aria-label={words.select(link.short_code)}
      checked={isSelected}
      onChange={(event) => {
        const { nativeEvent } = event;
        onSelect(link, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey);
      }}
    />
  );
}

function RowName({ link, path }: { link: Link; path: string }) {
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

function Destination({ link, path }: { link: Link; path: string }) {
  return (
    <div className={styles.destination} title={link.original_url}>
      {link.title && (
        <PageLink href={path} tabIndex={-1}>
          {link.title}
        </PageLink>
      )}
      {bare(link.original_url).slice(0, 300)}
    </div>
  );
}
