import { Button } from "@mantine/core";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { useProblemText } from "../strings/problems";
import { Dialog } from "../ui/Dialog";
import { useFormats } from "../ui/format";
import type { Outcome } from "./acts";
import styles from "./BulkBar.module.css";

const SHOWN = 100;

/** Which links could not be changed, and why. */
export function BulkFailures({ outcome, onClose }: { outcome: Outcome; onClose: () => void }) {
  const words = useTexts(texts);
  const text = useProblemText();
  const { number } = useFormats();
  const { done, failed } = outcome;
  return (
    <Dialog onClose={onClose} title={words.failedTitle(failed.length)}>
      {words.failedText(done.length)}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keys */}
      <section className={styles.failed} tabIndex={0} aria-label={words.reason}>
        <table>
          <tbody>
            {failed.slice(0, SHOWN).map(({ link, problem }) => (
              <tr key={link.id}>
                <th scope="row" className="mono">
                  /{link.short_code}
                </th>
                <td>{text(problem)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {failed.length > SHOWN && words.andMore(number(failed.length - SHOWN))}
      <div className={styles.acts}>
        <Button data-autofocus onClick={onClose}>
          {words.close}
        </Button>
      </div>
    </Dialog>
  );
}
