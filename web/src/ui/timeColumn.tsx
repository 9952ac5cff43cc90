import type { Column } from "./DataTable";
import { When } from "./When";

/** A column of instants. `none`: what is said where there is none. */
export function timeColumn<T>(
  head: string,
  atOf: (row: T) => string | null | undefined,
  none?: string,
): Column<T> {
  const cell = (row: T) => {
    const at = atOf(row);
    return at ? <When at={at} /> : none;
  };
  return { head, kind: "dim", label: true, cell };
}
