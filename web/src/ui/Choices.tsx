import { useId } from "react";
import styles from "./Choices.module.css";

export interface Choice<T extends string> {
  value: T;
  title: string;
  /** One sentence: what it means. */
  text: string;
  /** In the fixed-width letters of codes. */
  example?: string;
}

interface Props<T extends string> {
  label: string;
  choices: readonly Choice<T>[];
  chosen: readonly T[];
  onChange: (chosen: T[]) => void;
  /** Any number of them; else one. */
  isMultiple?: boolean;
  isDisabled?: boolean;
}

/** Things to choose between that need a sentence each. The whole card can be pressed. */
export function Choices<T extends string>(props: Props<T>) {
  const name = useId();
  const { chosen, isMultiple = false, isDisabled = false } = props;
  const choose = (value: T, isOn: boolean) => {
    if (!isMultiple) props.onChange([value]);
    else props.onChange(isOn ? [...chosen, value] : chosen.filter((other) => other !== value));
  };
  return (
    <fieldset className={styles.choices} disabled={isDisabled}>
      <legend>{props.label}</legend>
      {props.choices.map(({ value, title, text, example }) => (
        <div key={value} className={styles.choice}>
          <input
            type={isMultiple ? "checkbox" : "radio"}
            name={name}
            id={`${name}${value}`}
            aria-describedby={`${name}${value}text`}
            checked={chosen.includes(value)}
            onChange={(event) => choose(value, event.currentTarget.checked)}
          />
          <div>
            <label htmlFor={`${name}${value}`}>{title}</label>
            {example && <code>{example}</code>}
            <p id={`${name}${value}text`}>{text}</p>
          </div>
        </div>
      ))}
    </fieldset>
  );
}
