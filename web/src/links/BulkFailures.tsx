import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { useProblemText } from "../strings/problems";
import { type Column, DataTable } from "../ui/DataTable";
import { Dialog } from "../ui/Dialog";
import { DialogEnd } from "../ui/DialogActs";
import { useFormats } from "../ui/format";
import type { Outcome } from "./acts";
import styles from "./BulkFailures.module.css";

const SHOWN = 100;

type Failure = Outcome["failed"][number];

/** Which links could not be changed, and why. */
export function BulkFailures({ outcome, onClose }: { outcome: Outcome; onClose: () => void }) {
  const words = useTexts(texts);
  const text = useProblemText();
  const { number } = useFormats();
  const { done, failed } = outcome;
  const columns: Column<Failure>[] = [
    {
      head: words.link,
      kind: "name",
      className: `mono ${styles.code}`,
      cell: ({ link }) => `/${link.short_code}`,
    },
    { head: words.reason, cell: ({ problem }) => text(problem) },
  ];
  return (
    <Dialog onClose={onClose} title={words.failedTitle(failed.length)}>
      {words.failedText(done.length)}
      <div className={styles.failed}>
        <DataTable
          scrolls={words.reason}
          hasHead={false}
          columns={columns}
          rows={failed.slice(0, SHOWN)}
          keyOf={({ link }) => link.id}
        />
      </div>
      {failed.length > SHOWN && words.andMore(number(failed.length - SHOWN))}
      <DialogEnd verb="close" onClose={onClose} />
    </Dialog>
  );
}
