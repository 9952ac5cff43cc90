import { useQuery } from "@tanstack/react-query";
import { api, need } from "../api/client";
import { reaper as texts } from "../strings/adminReaper";
import { useTexts } from "../strings/language";
import { Dialog } from "../ui/Dialog";
import { DialogEnd } from "../ui/DialogActs";
import form from "../ui/form.module.css";
import { useFormats } from "../ui/format";
import { Failed, Loading } from "../ui/states";
import type { Reaper } from "./queries";
import styles from "./ReaperPage.module.css";

const COUNTED = 100_000; // the server counts no further

/** A dry run: counted anew, and nothing is written. */
export function Rehearsal({ onClose }: { onClose: () => void }) {
  const words = useTexts(texts);
  const found = useQuery({
    queryKey: ["admin", "reaper", "rehearsal"],
    queryFn: () => need(api.GET("/api/v1/admin/reaper")),
    staleTime: 0,
    gcTime: 0,
  });
  return (
    <Dialog onClose={onClose} title={words.rehearse}>
      {found.isPending && <Loading />}
      {found.isError && <Failed error={found.error} retry={found.refetch} />}
      {found.data && (
        <>
          <Forecast reaper={found.data} />
          <p className={form.dim}>{words.dryText}</p>
        </>
      )}
      <DialogEnd verb="close" onClose={onClose} />
    </Dialog>
  );
}

/** What a run would do now. */
export function Forecast({ reaper }: { reaper: Reaper }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const counted = (count: number) =>
    count < COUNTED ? number(count) : words.atLeast(number(count));
  const rules = reaper.rules.filter((rule) => rule.waiting);
  if (!rules.length && !reaper.unmarked) return <p className={styles.nothing}>{words.nothing}</p>;
  return (
    <ul className={styles.forecast}>
      {rules.map((rule) => (
        <li key={rule.ended}>
          <span>
            <b>{words[rule.action]}</b>
            {words[rule.ended]}
          </span>
          <output>{counted(rule.waiting ?? 0)}</output>
        </li>
      ))}
      {reaper.unmarked > 0 && <li>{words.wouldMark(counted(reaper.unmarked))}</li>}
    </ul>
  );
}
