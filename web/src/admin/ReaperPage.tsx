import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, need } from "../api/client";
import { reaper as texts } from "../strings/adminReaper";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { useFormats } from "../ui/format";
import { Failed, Loading } from "../ui/states";
import { toast } from "../ui/toasts";
import { AdminFrame } from "./AdminFrame";
import { type Run, useReaper } from "./queries";
import { ReaperRules } from "./ReaperRules";
import { ReaperRuns } from "./ReaperRuns";
import { ReaperState } from "./ReaperState";
import { Forecast, Rehearsal } from "./Rehearsal";

/** What ends links: how it is, what it would do, what it did. */
export default function ReaperPage() {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const [requestedAt, setRequestedAt] = useState<string | null>(null);
  const [open, setOpen] = useState<"run" | "rehearsal" | null>(null);
  const reaper = useReaper(requestedAt !== null);
  useOutcome(requestedAt, reaper.data?.reaper.runs[0], () => setRequestedAt(null));
  const isBusy = Boolean(requestedAt || reaper.data?.reaper.is_running);
  const run = async () => {
    const asked = await need(api.POST("/api/v1/admin/reaper/run"));
    setRequestedAt(asked.requested_at);
    await queries.invalidateQueries({ queryKey: ["admin", "reaper"] });
  };
  return (
    <AdminFrame
      page="reaper"
      acts={
        <>
          <Button variant="default" onClick={() => setOpen("rehearsal")}>
            {words.rehearse}
          </Button>
          <Button onClick={() => setOpen("run")} loading={isBusy}>
            {words.run}
          </Button>
        </>
      }
    >
      {reaper.isPending && <Loading />}
      {reaper.isLoadingError && <Failed error={reaper.error} retry={reaper.refetch} />}
      {reaper.data && (
        <>
          <ReaperState {...reaper.data} />
          <ReaperRules reaper={reaper.data.reaper} />
          <ReaperRuns runs={reaper.data.reaper.runs} />
        </>
      )}
      {open === "rehearsal" && <Rehearsal onClose={() => setOpen(null)} />}
      {open === "run" && (
        <Confirm
          title={words.confirmTitle}
          verb={words.run}
          act={run}
          onClose={() => setOpen(null)}
        >
          {reaper.data && <Forecast reaper={reaper.data.reaper} />}
          <p>{words.confirmText}</p>
        </Confirm>
      )}
    </AdminFrame>
  );
}

/** Says what came of the run that was asked for. */
function useOutcome(requestedAt: string | null, last: Run | undefined, onDone: () => void) {
  const words = useTexts(texts);
  const { number } = useFormats();
  useEffect(() => {
    if (!requestedAt || !last?.outcome || Date.parse(last.started_at) < Date.parse(requestedAt))
      return;
    onDone();
    if (last.outcome !== "done") {
      toast(words.hasFailed, { isBad: true });
      return;
    }
    const { trashed = 0, archived = 0, purged = 0 } = last.counts;
    toast(words.hasRun(number(trashed + archived + purged)));
  }, [requestedAt, last, onDone, words, number]);
}
