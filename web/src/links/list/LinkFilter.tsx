import { Button, TextInput } from "@mantine/core";
import { type RefObject, useEffect, useState } from "react";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { SHORTEST_SEARCH } from "../queries";
import { FilterChips } from "./FilterChips";
import { FilterFields } from "./FilterFields";
import type { FilterState } from "./filter";
import styles from "./LinkFilter.module.css";

const PAUSE_MS = 200; // between two letters of a person who types

interface Props {
  workspaceId: number | null;
  state: FilterState;
  searchRef: RefObject<HTMLInputElement | null>;
}

/** Searches while one types; the rest is chosen: beside it, or on a phone in a dialog. */
export function LinkFilter({ workspaceId, state, searchRef }: Props) {
  const words = useTexts(texts);
  const [isOpen, setOpen] = useState(false);
  const fields = <FilterFields workspaceId={workspaceId} state={state} />;
  return (
    <search className={styles.filter}>
      <div className={styles.line}>
        <Search
          inputRef={searchRef}
          value={state.filter.search}
          onChange={(search) => state.change({ search }, true)}
        />
        <div className={styles.wide}>{fields}</div>
        <Button
          variant="default"
          className={styles.narrow ?? ""}
          leftSection={<Icon name="funnel" size={18} />}
          onClick={() => setOpen(true)}
        >
          {words.filters}
        </Button>
      </div>
      <FilterChips state={state} />
      {isOpen && (
        <Dialog title={words.filters} onClose={() => setOpen(false)}>
          <div className={styles.sheet}>
            {fields}
            <Button fullWidth onClick={() => setOpen(false)}>
              {words.showLinks}
            </Button>
          </div>
        </Dialog>
      )}
    </search>
  );
}

export function Search(props: {
  value: string;
  onChange: (text: string) => void;
  inputRef?: RefObject<HTMLInputElement | null>;
}) {
  const words = useTexts(texts);
  const { value, onChange } = props;
  const [text, setText] = useState(value);
  // Cleared, or the back button. What was just sent stays as it was typed, with a space at its end.
  useEffect(() => setText((now) => (now.trim() === value ? now : value)), [value]);
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === value || (wanted && wanted.length < SHORTEST_SEARCH)) return;
    const timer = window.setTimeout(() => onChange(wanted), PAUSE_MS);
    return () => window.clearTimeout(timer);
  }, [text, value, onChange]);
  const isShort = text.trim().length > 0 && text.trim().length < SHORTEST_SEARCH;
  return (
    <TextInput
      ref={props.inputRef ?? null}
      className={styles.search ?? ""}
      type="search"
      aria-label={words.search}
      placeholder={words.searchHint}
      leftSection={<Icon name="search" size={18} />}
      rightSectionWidth={isShort ? 176 : 12}
      rightSection={isShort ? <span className={styles.hint}>{words.searchMore}</span> : null}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}
