import { useState } from "react";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { Confirm } from "../../ui/Confirm";
import { useFormats } from "../../ui/format";
import { toast } from "../../ui/toasts";
import type { Act, Outcome } from "../acts";
import { type Link, PAGE } from "../queries";
import type { Runner } from "../running";
import { BulkBar, BulkButton } from "./BulkBar";
import { BulkTags } from "./BulkTags";
import type { Selection } from "./selection";

interface Props {
  workspaceId: number | null;
  mayWrite: boolean;
  selection: Selection;
  runner: Runner;
  onExport: (links: readonly Link[]) => void;
}

/** What can be done with the selected links. Those with which it failed stay selected. */
export function LinkBulk({ workspaceId, mayWrite, selection, runner, onExport }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const [asked, setAsked] = useState<"tags" | "delete" | null>(null);
  const { links } = selection;
  const run = async (started: Promise<Outcome>) => {
    const { failed } = await started;
    selection.set(failed.map(({ link }) => link));
  };
  const tag = (act: Act) => {
    setAsked(null);
    void run(runner.run(act, links, (done) => toast(words.changed(done.length))));
  };
  // What nobody sees at once is asked for.
  const remove = () => (links.length > PAGE ? setAsked("delete") : run(runner.remove(links)));
  return (
    <>
      <BulkBar count={links.length} running={runner.running} onClear={() => selection.set([])}>
        {mayWrite && (
          <>
            <BulkButton icon="tag" onClick={() => setAsked("tags")}>
              {words.tagThem}
            </BulkButton>
            <BulkButton icon="pause" onClick={() => run(runner.pause(links))}>
              {words.pause}
            </BulkButton>
            <BulkButton icon="play" onClick={() => run(runner.resume(links))}>
              {words.resume}
            </BulkButton>
            <BulkButton icon="bin" isBad onClick={remove}>
              {words.delete}
            </BulkButton>
          </>
        )}
        <BulkButton icon="download" onClick={() => onExport(links)}>
          {words.export}
        </BulkButton>
      </BulkBar>
      {asked === "tags" && (
        <BulkTags
          links={links}
          workspaceId={workspaceId}
          onSave={tag}
          onClose={() => setAsked(null)}
        />
      )}
      {asked === "delete" && (
        <Confirm
          title={words.deleteTitle(number(links.length))}
          verb={words.delete}
          isDangerous
          act={() => run(runner.remove(links))}
          onClose={() => setAsked(null)}
        >
          <p>{words.deleteText}</p>
        </Confirm>
      )}
    </>
  );
}
