import { Checkbox } from "@mantine/core";
import { pathIn } from "../app/place";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { Icon } from "../ui/Icon";
import type { FilterState } from "./filter";
import styles from "./LinkTable.module.css";
import type { Link, Sort } from "./queries";
import { Row, type RowActs } from "./Row";
import type { Selection } from "./selection";

interface Props {
  links: readonly Link[];
  workspaceId: number | null;
  state: FilterState;
  selection: Selection;
  acts: RowActs;
}

export function LinkTable({ links, workspaceId, state, selection, acts }: Props) {
  const words = useTexts(texts);
  return (
    <table className={styles.table}>
      <thead>
        <tr>
          <th scope="col" className={styles.pick}>
            <PageBox selection={selection} />
          </th>
          <th scope="col">{words.link}</th>
          <th scope="col" className={styles.status}>
            {words.status}
          </th>
          <SortHead state={state} field="redirect_count" isDownFirst className={styles.number}>
            {words.clicks}
          </SortHead>
          <SortHead state={state} field="created_at" isDownFirst className={styles.made}>
            {words.made}
          </SortHead>
          <SortHead state={state} field="expires_at" className={styles.when}>
            {words.expires}
          </SortHead>
          <th scope="col" className={styles.acts}>
            <span className="unseen">{words.acts}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {links.map((link) => (
          <Row
            key={link.id}
            link={link}
            path={pathIn(workspaceId, `/links/${link.id}`)}
            isSelected={selection.has(link.id)}
            onSelect={selection.toggle}
            acts={acts}
          />
        ))}
      </tbody>
    </table>
  );
}

export function PageBox({ selection }: { selection: Selection }) {
  const words = useTexts(texts);
  return (
    <Checkbox
      size="sm"
      aria-label={words.selectPage}
      checked={selection.isPageWhole}
      indeterminate={selection.isPagePartly}
      onChange={selection.togglePage}
    />
  );
}

function SortHead(props: {
  state: FilterState;
  field: "redirect_count" | "created_at" | "expires_at";
  isDownFirst?: boolean;
  className: string | undefined;
  children: string;
}) {
  const { filter, change } = props.state;
  const [up, down]: [Sort, Sort] = [props.field, `-${props.field}`];
  const [first, second] = props.isDownFirst ? [down, up] : [up, down];
  const isDown = filter.sort === down;
  const isHere = isDown || filter.sort === up;
  return (
    <th
      scope="col"
      className={props.className}
      aria-sort={isHere ? (isDown ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        className={styles.sort}
        onClick={() => change({ sort: filter.sort === first ? second : first })}
      >
        {props.children}
        <span className={styles.direction}>
          <Icon name={isHere && !isDown ? "up" : "down"} size={12} />
        </span>
      </button>
    </th>
  );
}
