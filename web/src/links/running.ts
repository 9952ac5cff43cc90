import { useCallback, useState } from "react";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { useProblemText } from "../strings/problems";
import type { Status } from "../ui/StatusBadge";
import { toast } from "../ui/toasts";
import { type Act, DELETE, type Outcome, PAUSE, RESTORE, RESUME, useActs } from "./acts";
import { hasExpired, type Link } from "./queries";

export interface Runner {
  /** How many links are done, while something runs on several. */
  running: number | null;
  isBusy: boolean;
  /** What was not done, to be told; null: nothing. */
  failed: Outcome | null;
  dismiss(): void;
  /** `say` tells of what was done. */
  run(act: Act, links: readonly Link[], say: (done: readonly Link[]) => void): Promise<Outcome>;
  pause(links: readonly Link[]): Promise<Outcome>;
  resume(links: readonly Link[]): Promise<Outcome>;
  /** `expiresAt`: the new end of a single link. */
  restore(links: readonly Link[], expiresAt?: string): Promise<Outcome>;
  /** To the trash, with a way back. */
  remove(links: readonly Link[]): Promise<Outcome>;
}

/** Does things to links, tells what became of it, and offers to undo it. */
export function useRunner(workspaceId: number | null): Runner {
  const words = useTexts(texts);
  const act = useActs(workspaceId);
  const [isBusy, setBusy] = useState(false);
  const [running, setRunning] = useState<number | null>(null);
  const [failed, setFailed] = useState<Outcome | null>(null);
  const run: Runner["run"] = useCallback(
    async (what, links, say) => {
      setBusy(true);
      if (links.length > 1) setRunning(0);
      const outcome = await act(what, links, setRunning);
      setRunning(null);
      setBusy(false);
      if (outcome.done.length > 0) say(outcome.done);
      if (outcome.failed.length > 0) setFailed(outcome);
      return outcome;
    },
    [act],
  );
  const runBack = useRunBack(act);
  const dismiss = useCallback(() => setFailed(null), []);
  const name = (done: readonly Link[]) => done[0]?.short_code ?? "";
  const undo = (action: () => void) => ({ action: { label: words.undo, run: action } });
  const sayRestored = (done: readonly Link[]) => toast(words.restored(done.length, name(done)));
  return {
    running,
    isBusy,
    failed,
    dismiss,
    run,
    restore: (links, expiresAt) =>
      run(expiresAt === undefined ? RESTORE : { ...RESTORE, expiresAt }, links, sayRestored),
    pause: (links) =>
      run(PAUSE, links, (done) => {
        const before = new Set(links.filter((link) => link.is_paused).map(({ id }) => id));
        const stopped = done.filter(({ id }) => !before.has(id));
        const putBack = () => runBack(RESUME, stopped, (all) => toast(words.changed(all.length)));
        const text = done.length === 1 ? words.paused(name(done)) : words.changed(done.length);
        toast(text, stopped.length > 0 ? undo(() => void putBack()) : {});
      }),
    resume: (links) =>
      run(RESUME, links, (done) =>
        toast(done.length === 1 ? words.resumed(name(done)) : words.changed(done.length)),
      ),
    remove: (links) =>
      run(DELETE, links, (done) => {
        const before = new Map(links.map(({ id, status }) => [id, status]));
        const is = (status: Status) => (link: Link) => before.get(link.id) === status;
        // Restored, these would answer again, which they did not before.
        const live = done.filter((link) => !is("EXPIRED")(link) && !hasExpired(link));
        const putBack = async () => {
          const { done: back } = await runBack(RESTORE, live, sayRestored);
          const paused = back.filter(is("PAUSED"));
          if (paused.length > 0) await runBack(PAUSE, paused, () => {});
          if (live.length < done.length) toast(words.staysExpired(done.length - live.length));
        };
        const text = words.deleted(done.length, name(done));
        toast(text, live.length > 0 ? undo(() => void putBack()) : {});
      }),
  };
}

/** Runs what a toast offers. The page that began may be gone: a toast says what was not done, too. */
function useRunBack(act: ReturnType<typeof useActs>): Runner["run"] {
  const words = useTexts(texts);
  const problemText = useProblemText();
  return async (what, links, say) => {
    const outcome = await act(what, links);
    const { done, failed } = outcome;
    if (done.length > 0) say(done);
    if (failed[0] !== undefined) {
      const title = words.failedTitle(failed.length);
      toast(`${title}. ${problemText(failed[0].problem)}`, { isBad: true });
    }
    return outcome;
  };
}
