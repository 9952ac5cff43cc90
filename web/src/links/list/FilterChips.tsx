import { localeOf, useLanguage, useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { Icon } from "../../ui/Icon";
import type { Change, FilterState } from "./filter";
import styles from "./LinkFilter.module.css";

/** What the list is narrowed to; a click takes one part away. */
export function FilterChips({ state }: { state: FilterState }) {
  const words = useTexts(texts);
  const language = useLanguage();
  const { filter, change } = state;
  const day = (value: string | null) =>
    value === null
      ? ""
      : new Intl.DateTimeFormat(localeOf(language), {
          dateStyle: "medium",
          timeZone: "UTC",
        }).format(new Date(value));
  const chips: [string, Change][] = [
    [filter.search && words.quoted(filter.search), { search: "" }],
    [filter.status ? words[filter.status] : "", { status: "" }],
    [filter.tag ?? "", { tag: "" }],
    [filter.check ? words[filter.check] : "", { check: "" }],
    [
      filter.from || filter.to ? `${day(filter.from)} – ${day(filter.to)}` : "",
      { from: "", to: "" },
    ],
  ];
  if (!state.isFiltered) return null;
  return (
    <div className={styles.chips}>
      {chips.map(
        ([label, without]) =>
          label && (
            <button
              key={Object.keys(without).join()}
              type="button"
              className={styles.chip}
              aria-label={words.without(label)}
              onClick={() => change(without)}
            >
              <span className="truncate">{label}</span>
              <Icon name="close" size={12} />
            </button>
          ),
      )}
      <button type="button" className={styles.clear} onClick={state.clear}>
        {words.clearAll}
      </button>
    </div>
  );
}
