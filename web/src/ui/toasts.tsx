import { useSyncExternalStore } from "react";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { Icon } from "./Icon";
import styles from "./toasts.module.css";

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
  action: { label: string; run: () => void } | undefined;
}

const SHOWN_MS = 5000;
const BAD_SHOWN_MS = 12_000;
const listeners = new Set<() => void>();
let shown: readonly Toast[] = [];
let last = 0;

/** Says something for a moment. `action`: one way back, such as undo. */
export function toast(
  text: string,
  options: { isBad?: boolean; action?: { label: string; run: () => void } } = {},
): void {
  const made = { id: ++last, text, isBad: options.isBad ?? false, action: options.action };
  const others = shown.filter((other) => other.text !== text || other.action); // each has its way back
  set([...others, made].slice(-3));
  window.setTimeout(() => dismiss(made.id), made.isBad || made.action ? BAD_SHOWN_MS : SHOWN_MS);
}

function dismiss(id: number): void {
  set(shown.filter((other) => other.id !== id));
}

function set(next: readonly Toast[]): void {
  shown = next;
  for (const tell of listeners) tell();
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

/** Stands once in every page. */
export function Toasts() {
  const words = useTexts(common);
  const toasts = useSyncExternalStore(subscribe, () => shown);
  return (
    <div className={styles.stack} role="status" aria-live="polite">
      {toasts.map(({ id, text, isBad, action }) => (
        <div key={id} className={styles.toast} data-bad={isBad || undefined}>
          <Icon name={isBad ? "warn" : "check"} />
          <span>{text}</span>
          {action && (
            <button
              type="button"
              className={styles.action}
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button
            type="button"
            className={styles.close}
            aria-label={words.close}
            onClick={() => dismiss(id)}
          >
            <Icon name="close" size={16} />
          </button>
        </div>
      ))}
    </div>
  );
}
