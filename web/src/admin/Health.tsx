import { health as texts } from "../strings/adminHealth";
import { system as systemTexts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import type { HealthComponent } from "./queries";
import { type HealthStatus, StatusText } from "./StatusText";
import styles from "./SystemPage.module.css";

const ORDER: Record<HealthStatus, number> = { error: 0, warning: 1, ok: 2 };

interface Props {
  components: readonly HealthComponent[];
}

/** What needs somebody comes first. */
export function Health({ components }: Props) {
  const words = useTexts(texts);
  const sorted = [...components].sort((one, other) => ORDER[one.status] - ORDER[other.status]);
  return (
    <section aria-labelledby="health">
      <Summary components={components} />
      <ul className={styles.components}>
        {sorted.map(({ name, status, reason }) => (
          <li key={name} className={`panel ${styles.component}`} data-status={status}>
            <div className={styles.componentHead}>
              <h3>{sentence(words, name) ?? name}</h3>
              <StatusText status={status}>{words[status]}</StatusText>
            </div>
            <p>{sentence(words, `${name}.${reason}`) ?? reason}</p>
            <Advice text={sentence(words, `${name}.${reason}!`)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Advice({ text }: { text: string | undefined }) {
  return text ? <p className={styles.advice}>{text}</p> : null;
}

function Summary({ components }: Props) {
  const words = useTexts(systemTexts);
  const errors = components.filter(({ status }) => status === "error").length;
  const warnings = components.filter(({ status }) => status === "warning").length;
  const status = errors ? "error" : warnings ? "warning" : "ok";
  const text = errors
    ? words.errorsFound(errors)
    : warnings
      ? words.warningsFound(warnings)
      : words.allWell;
  return (
    <div className={styles.summary}>
      <h2 id="health">
        <StatusText status={status}>{text}</StatusText>
      </h2>
      <p>{words.refreshes}</p>
    </div>
  );
}

/** A server may know reasons that this page does not. */
function sentence(words: Record<string, string>, name: string): string | undefined {
  return words[name];
}
