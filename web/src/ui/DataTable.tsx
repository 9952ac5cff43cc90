import { Checkbox } from "@mantine/core";
import { type Key, memo, type ReactNode } from "react";
import styles from "./DataTable.module.css";

export interface Column<T> {
  head: string;
  cell: (row: T) => ReactNode;
  /** `name`: the cell is the heading of its row. `acts`: buttons, with a heading that is only read
   *  aloud. `corner`: one of them, on a phone in a corner of the card. */
  kind?: "name" | "number" | "dim" | "acts" | "corner";
  /** On a phone the cell carries its heading, or the text that this gives. */
  label?: true | ((row: T) => string | undefined);
  title?: (row: T) => string;
  /** Of the heading and the cells. */
  className?: string | undefined;
  /** Shown instead of `head`. */
  headPart?: ReactNode;
  sort?: "ascending" | "descending" | undefined;
}

/** Boxes in front of the rows. */
export interface Boxes<T> {
  isChecked: (row: T) => boolean;
  /** With `isRange`, all from the one touched last to this one. */
  toggle: (row: T, isRange: boolean) => void;
  togglePage: () => void;
  isPageWhole: boolean;
  isPagePartly: boolean;
  labelOf: (row: T) => string;
  pageLabel: string;
}

interface Props<T> {
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => Key;
  boxes?: Boxes<T> | null;
  className?: string | undefined;
  /** The name of a part of the page that scrolls by itself: for many small rows. */
  scrolls?: string;
  hasHead?: boolean;
}

/** Rows of things. On a phone each becomes a card. If `columns` stays the same object, only rows that
 *  have changed are drawn again. */
export function DataTable<T>(props: Props<T>) {
  const { columns, rows, keyOf, boxes, scrolls, hasHead = true } = props;
  const look = scrolls === undefined ? styles.list : styles.small;
  const table = (
    <table className={[styles.table, look, props.className].filter(Boolean).join(" ")}>
      {hasHead && (
        <thead>
          <tr>
            {boxes && (
              <th scope="col" data-pick>
                <Checkbox
                  size="sm"
                  aria-label={boxes.pageLabel}
                  checked={boxes.isPageWhole}
                  indeterminate={boxes.isPagePartly}
                  onChange={boxes.togglePage}
                />
              </th>
            )}
            {columns.map((column) => (
              <Head key={column.head} column={column as Column<unknown>} />
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map((row) => (
          <Row
            key={keyOf(row)}
            row={row}
            columns={columns as readonly Column<unknown>[]}
            {...(boxes && {
              id: keyOf(row),
              box: boxes.labelOf(row),
              isChecked: boxes.isChecked(row),
              onToggle: boxes.toggle as (row: unknown, isRange: boolean) => void,
            })}
          />
        ))}
      </tbody>
    </table>
  );
  if (scrolls === undefined) return table;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
    <section className={styles.scrolls} tabIndex={0} aria-label={scrolls}>
      {table}
    </section>
  );
}

function classOf({ kind, className }: Column<unknown>): string | undefined {
  const looks = { name: "", number: styles.number, dim: styles.dim, acts: styles.acts };
  const look = kind === "corner" ? `${styles.acts} ${styles.corner}` : kind && looks[kind];
  return [look, className].filter(Boolean).join(" ") || undefined;
}

function Head({ column }: { column: Column<unknown> }) {
  const isUnseen = column.kind === "acts" || column.kind === "corner";
  return (
    <th scope="col" className={classOf(column)} aria-sort={column.sort}>
      {column.headPart ?? (isUnseen ? <span className="unseen">{column.head}</span> : column.head)}
    </th>
  );
}

interface RowProps {
  row: unknown;
  columns: readonly Column<unknown>[];
  /** Of rows with a box: keys walk through them. */
  id?: Key;
  box?: string;
  isChecked?: boolean;
  onToggle?: (row: unknown, isRange: boolean) => void;
}

const Row = memo(function Row({ row, columns, id, box, isChecked = false, onToggle }: RowProps) {
  return (
    <tr data-row={id} data-selected={isChecked || undefined}>
      {box !== undefined && (
        <td data-pick>
          <Checkbox
            size="sm"
            aria-label={box}
            checked={isChecked}
            onChange={({ nativeEvent }) =>
              onToggle?.(row, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
            }
          />
        </td>
      )}
      {columns.map((column) => {
        const { head, label } = column;
        const shared = { className: classOf(column), title: column.title?.(row) };
        return column.kind === "name" ? (
          <th key={head} scope="row" {...shared}>
            {column.cell(row)}
          </th>
        ) : (
          <td key={head} data-label={label === true ? head : label?.(row)} {...shared}>
            {column.cell(row)}
          </td>
        );
      })}
    </tr>
  );
});
