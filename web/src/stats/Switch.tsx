import styles from "./Switch.module.css";

interface Props<T extends string> {
  /** What is chosen here. */
  label: string;
  options: readonly { value: T; label: string }[];
  /** Null: something that is none of them. */
  value: T | null;
  onChange: (value: T) => void;
}

/** A few choices side by side, one of them taken. */
export function Switch<T extends string>({ label, options, value, onChange }: Props<T>) {
  return (
    <fieldset className={styles.switch} aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  );
}
