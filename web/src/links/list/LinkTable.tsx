import { useMemo } from "react";
import { pathIn } from "../../app/space";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { CopyButton } from "../../ui/CopyButton";
import { type Boxes, type Column, DataTable } from "../../ui/DataTable";
import { useFormats, useNow } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { StatusBadge } from "../../ui/StatusBadge";
import { When } from "../../ui/When";
import type { Link, Sort } from "../queries";
import type { FilterState } from "./filter";
import styles from "./LinkTable.module.css";
import { RowCheck } from "./RowCheck";
import { type RowActs, RowMenu } from "./RowMenu";
import { Destination, RowName } from "./RowName";
import { RowTags } from "./RowTags";
import type { Selection } from "./selection";

interface Props {
  links: readonly Link[];
  workspaceId: number | null;
  state: FilterState;
  selection: Selection;
  acts: RowActs;
}

export function LinkTable({ links, workspaceId, state, selection, acts }: Props) {
  return (
    <DataTable
      className={styles.links}
      columns={useColumns(workspaceId, state, acts)}
      rows={links}
      keyOf={(link) => link.id}
      boxes={useBoxes(selection)}
    />
  );
}

/** The boxes of a table of links; none for somebody who selects nothing. */
export function useBoxes(selection: Selection | null): Boxes<Link> | null {
  const words = useTexts(texts);
  return (
    selection && {
      ...selection,
      isChecked: (link) => selection.has(link.id),
      labelOf: (link) => words.select(link.short_code),
      pageLabel: words.selectPage,
    }
  );
}

function useColumns(workspaceId: number | null, state: FilterState, acts: RowActs) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const now = useNow();
  return useMemo((): Column<Link>[] => {
    const pathOf = (link: Link) => pathIn(workspaceId, `/links/${link.id}`);
    const isOver = (at: string) => Date.parse(at) <= now;
    return [
      {
        head: words.link,
        className: styles.link,
        cell: (link) => (
          <>
            <div className={styles.code}>
              <RowName link={link} path={pathOf(link)} />
              <RowTags tags={link.tags} onTag={acts.onTag} />
            </div>
            <Destination link={link} path={pathOf(link)} />
          </>
        ),
      },
      {
        head: words.status,
        className: styles.status,
        cell: (link) => (
          <>
            <StatusBadge status={link.status} />
            <RowCheck link={link} />
          </>
        ),
      },
      {
        head: words.clicks,
        kind: "number",
        label: true,
        className: styles.number,
        cell: (link) => number(link.redirect_count),
        ...sorting(state, "redirect_count", words.clicks, true),
      },
      {
        head: words.created,
        className: styles.made,
        cell: (link) => <When at={link.created_at} />,
        ...sorting(state, "created_at", words.created, true),
      },
      {
        head: words.expires,
        className: styles.when,
        label: ({ expires_at: at }) =>
          at === null ? undefined : isOver(at) ? words.EXPIRED : words.expires,
        cell: ({ expires_at: at }) => (at === null ? words.never : <When at={at} />),
        ...sorting(state, "expires_at", words.expires, false),
      },
      {
        head: words.acts,
        kind: "acts",
        className: styles.acts,
        cell: (link) => (
          <div>
            <CopyButton isSmall text={link.short_url} label={words.copyOf(link.short_code)} />
            <span className={styles.second}>
              <IconButton
                icon="qr"
                label={words.qrOf(link.short_code)}
                onClick={() => acts.onQr(link)}
              />
            </span>
            <RowMenu link={link} path={pathOf(link)} acts={acts} />
          </div>
        ),
      },
    ];
  }, [workspaceId, state, acts, words, number, now]);
}

/** A heading that sorts by its column. */
function sorting(
  { filter, change }: FilterState,
  field: "redirect_count" | "created_at" | "expires_at",
  text: string,
  isDownFirst: boolean,
): Pick<Column<Link>, "headPart" | "sort"> {
  const [up, down]: [Sort, Sort] = [field, `-${field}`];
  const [first, second] = isDownFirst ? [down, up] : [up, down];
  const isDown = filter.sort === down;
  const isHere = isDown || filter.sort === up;
  return {
    sort: isHere ? (isDown ? "descending" : "ascending") : undefined,
    headPart: (
      <button
        type="button"
        className={styles.sort}
        onClick={() => change({ sort: filter.sort === first ? second : first })}
      >
        {text}
        <span className={styles.direction}>
          <Icon name={isHere && !isDown ? "up" : "down"} size={12} />
        </span>
      </button>
    ),
  };
}
