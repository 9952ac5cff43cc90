import { TextInput } from "@mantine/core";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { completed } from "../../ui/urls";
import styles from "./LinkForm.module.css";
import { readUtm, UTM, writeUtm } from "./UtmParameters";

/** Writes campaign parameters into the address. Reads what it has already, so that none is there
 *  twice. */
export function UtmBuilder({ url, onChange }: { url: string; onChange: (url: string) => void }) {
  const words = useTexts(texts);
  const values = readUtm(url);
  const isEmpty = url.trim() === "";
  return (
    <div className={styles.utm}>
      {isEmpty && <p className={styles.note}>{words.utmNoAddress}</p>}
      <div className={styles.pair}>
        {UTM.map((name) => (
          <TextInput
            key={name}
            label={words[name]}
            placeholder={words[`${name}Hint`]}
            disabled={isEmpty}
            autoComplete="off"
            autoCapitalize="off"
            value={values[name]}
            onChange={(event) => onChange(writeUtm(url, name, event.currentTarget.value))}
          />
        ))}
      </div>
      {!isEmpty && (
        <p className={styles.result}>
          {words.utmResult} <span className="mono">{completed(url)}</span>
        </p>
      )}
    </div>
  );
}
