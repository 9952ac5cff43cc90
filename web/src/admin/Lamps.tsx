import { lamps as texts } from "../strings/adminLamps";
import { system as systemTexts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Light, type LightName } from "./Light";
import type { Lamp } from "./queries";
import styles from "./SystemPage.module.css";

const ORDER: Record<LightName, number> = { bad: 0, wary: 1, good: 2 };

/** What needs somebody comes first. */
export function Lamps({ lamps }: { lamps: readonly Lamp[] }) {
  const words = useTexts(texts);
  const sorted = [...lamps].sort((one, other) => ORDER[one.light] - ORDER[other.light]);
  return (
    <section aria-labelledby="lamps">
      <Summary lamps={lamps} />
      <ul className={styles.lamps}>
        {sorted.map((lamp) => (
          <li key={lamp.about} className={styles.lamp} data-light={lamp.light}>
            <div className={styles.lampHead}>
              <h3>{sentence(words, lamp.about) ?? lamp.about}</h3>
              <Light light={lamp.light}>{words[lamp.light]}</Light>
            </div>
            <p>{sentence(words, `${lamp.about}.${lamp.reason}`) ?? lamp.reason}</p>
            <Advice text={sentence(words, `${lamp.about}.${lamp.reason}!`)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Advice({ text }: { text: string | undefined }) {
  return text ? <p className={styles.advice}>{text}</p> : null;
}

function Summary({ lamps }: { lamps: readonly Lamp[] }) {
  const words = useTexts(systemTexts);
  const bad = lamps.filter(({ light }) => light === "bad").length;
  const wary = lamps.filter(({ light }) => light === "wary").length;
  const light = bad ? "bad" : wary ? "wary" : "good";
  const text = bad ? words.bad(bad) : wary ? words.needLook(wary) : words.allWell;
  return (
    <div className={styles.summary}>
      <h2 id="lamps">
        <Light light={light}>{text}</Light>
      </h2>
      <p>{words.refreshes}</p>
    </div>
  );
}

/** A server may know reasons that this page does not. */
function sentence(words: Record<string, string>, name: string): string | undefined {
  return words[name];
}
