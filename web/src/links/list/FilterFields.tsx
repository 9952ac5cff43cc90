import { NativeSelect, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { useCutChoice } from "../../ui/CutNote";
import { type Sort, useTags } from "../queries";
import { CHECKS, type FilterState, firstDayOf, SORTS, SPANS, STATUSES } from "./filter";
import styles from "./LinkFilter.module.css";

const PAUSE_MS = 600; // between two digits of a date

/** What can be chosen. The order is here for phones: elsewhere the heads of columns are clicked. */
export function FilterFields(props: { workspaceId: number | null; state: FilterState }) {
  const words = useTexts(texts);
  const { filter, change } = props.state;
  const cutOf = useCutChoice();
  const tags = useTags(props.workspaceId).data ?? [];
  const isUnknown = filter.tag && !tags.some(({ tag }) => tag === filter.tag);
  const names = [...(isUnknown ? [filter.tag as string] : []), ...tags.map(({ tag }) => tag)];
  return (
    <>
      <NativeSelect
        aria-label={words.status}
        value={filter.status ?? ""}
        onChange={(event) => change({ status: event.currentTarget.value })}
        data={[
          { value: "", label: words.anyStatus },
          ...STATUSES.map((status) => ({ value: status, label: words[status] })),
        ]}
      />
      {names.length > 0 && (
        <NativeSelect
          aria-label={words.tag}
          value={filter.tag ?? ""}
          onChange={(event) => change({ tag: event.currentTarget.value })}
          data={[
            { value: "", label: words.anyTag },
            ...names.map((tag) => ({ value: tag, label: tag })),
            ...cutOf(tags),
          ]}
        />
      )}
      <NativeSelect
        aria-label={words.check}
        value={filter.check ?? ""}
        onChange={(event) => change({ check: event.currentTarget.value })}
        data={[
          { value: "", label: words.anyCheck },
          ...CHECKS.map((check) => ({ value: check, label: words[check] })),
        ]}
      />
      <Days state={props.state} />
      <SortField state={props.state} />
    </>
  );
}

/** Since when, by one click, or from one day to another. */
function Days({ state }: { state: FilterState }) {
  const words = useTexts(texts);
  const { filter, change } = state;
  const [isChoosing, setChoosing] = useState(false);
  const span = SPANS.find((days) => !filter.to && filter.from === firstDayOf(days));
  const isOther = span === undefined && Boolean(filter.from || filter.to);
  const isShown = isOther || isChoosing;
  const choose = (value: string) => {
    setChoosing(value === "other");
    if (value !== "other") change({ from: value && firstDayOf(Number(value)), to: "" });
  };
  return (
    <>
      <NativeSelect
        aria-label={words.created}
        value={isShown ? "other" : (span ?? "")}
        onChange={(event) => choose(event.currentTarget.value)}
        data={[
          { value: "", label: words.anyTime },
          ...SPANS.map((days) => ({
            value: String(days),
            label: days === 1 ? words.today : words.lastDays(days),
          })),
          { value: "other", label: words.chooseDays },
        ]}
      />
      {isShown && (
        <div className={styles.days}>
          <DayField
            label={words.from}
            value={filter.from ?? ""}
            max={filter.to ?? ""}
            onFocus={() => setChoosing(true)}
            onChange={(from) => change({ from }, true)}
          />
          <span aria-hidden="true">–</span>
          <DayField
            label={words.to}
            value={filter.to ?? ""}
            min={filter.from ?? ""}
            onFocus={() => setChoosing(true)}
            onChange={(to) => change({ to }, true)}
          />
        </div>
      )}
    </>
  );
}

/** A day, told when its year is whole and no other digit came for a moment, or the field is left. */
function DayField(props: {
  label: string;
  value: string;
  min?: string;
  max?: string;
  onFocus: () => void;
  onChange: (day: string) => void;
}) {
  const { value, onChange } = props;
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]); // chosen elsewhere, or the back button
  const isWhole = text.length === "2026-11-30".length && text >= "1000";
  const isNew = text !== value && (text === "" || isWhole);
  useEffect(() => {
    if (!isNew) return;
    const timer = window.setTimeout(() => onChange(text), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [isNew, text, onChange]);
  return (
    <TextInput
      type="date"
      aria-label={props.label}
      value={text}
      min={props.min ?? ""}
      max={props.max ?? ""}
      onFocus={props.onFocus}
      onBlur={() => isNew && onChange(text)}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

function SortField({ state }: { state: FilterState }) {
  const words = useTexts(texts);
  const names: Record<Sort, string> = {
    "-created_at": words.newest,
    created_at: words.oldest,
    "-redirect_count": words.mostClicks,
    redirect_count: words.fewestClicks,
    expires_at: words.soonest,
    "-expires_at": words.latest,
    "-updated_at": words.newestChange,
    updated_at: words.oldestChange,
  };
  return (
    <NativeSelect
      className={styles.narrow ?? ""}
      aria-label={words.sort}
      value={state.filter.sort}
      onChange={(event) => state.change({ sort: event.currentTarget.value })}
      data={SORTS.map((sort) => ({ value: sort, label: names[sort] }))}
    />
  );
}
