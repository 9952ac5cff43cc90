import { Switch } from "@mantine/core";
import { useEffect, useState } from "react";
import * as storage from "../../api/storage";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { Dialog } from "../../ui/Dialog";
import styles from "./LinksPage.module.css";

const KEY = "kurz.letter-keys"; // "off": some people's tools send letters

export interface KeyActs {
  onSearch: () => void;
  /** null: it is not for this reader. */
  onCreate: (() => void) | null;
}

/** Letters act on the list while nobody types and no dialog is open. */
export function useRowKeys({ onSearch, onCreate }: KeyActs) {
  const [isHelpOpen, setHelpOpen] = useState(false);
  useEffect(() => {
    const acts = { onSearch, onCreate };
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector("[role=dialog], [role=menu]")) return;
      if (run(event, acts, () => setHelpOpen(true))) event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [onSearch, onCreate]);
  return { isHelpOpen, setHelpOpen };
}

/** False: the key means nothing here. */
function run(event: KeyboardEvent, acts: KeyActs, help: () => void): boolean {
  const row = document.activeElement?.closest<HTMLElement>("tr[data-row]") ?? null;
  if (event.key === "ArrowDown" && row) return move(row, 1);
  else if (event.key === "ArrowUp" && row) return move(row, -1);
  else if (storage.read(KEY) === "off") return false;
  else if (event.key === "?") help();
  else if (event.key === "j") return move(row, 1);
  else if (event.key === "k") return move(row, -1);
  else if (event.key === "/") acts.onSearch();
  else if (event.key === "c") acts.onCreate?.();
  else if (event.key.toLowerCase() === "x" && row) {
    const { shiftKey } = event;
    const click = new MouseEvent("click", { shiftKey, bubbles: true, cancelable: true });
    row.querySelector("input[type=checkbox]")?.dispatchEvent(click);
  } else return false;
  return true;
}

function move(row: HTMLElement | null, step: number): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("tr[data-row]")];
  const next = row === null ? rows[0] : rows[rows.indexOf(row) + step];
  const target = next?.querySelector<HTMLElement>("[data-main]");
  target?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return target !== undefined;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target.isContentEditable || target.matches("textarea, select");
}

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const words = useTexts(texts);
  const [isOn, setOn] = useState(storage.read(KEY) !== "off");
  const keys: [string[], string][] = [
    [["j", "k", "↓", "↑"], words.keyMove],
    [["Enter"], words.keyOpen],
    [["x"], words.keySelect],
    [["/"], words.keySearch],
    [["c"], words.create],
    [["?"], words.keyHelp],
  ];
  return (
    <Dialog onClose={onClose} title={words.keys}>
      <dl className={styles.keys}>
        {keys.map(([names, does]) => (
          <div key={does} style={{ display: "contents" }}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <Switch
        label={words.keysOn}
        data-autofocus
        checked={isOn}
        onChange={(event) => {
          setOn(event.currentTarget.checked);
          storage.write(KEY, event.currentTarget.checked ? null : "off");
        }}
      />
    </Dialog>
  );
}
