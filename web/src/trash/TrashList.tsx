import { type ReactNode, useState } from "react";
import { type Outcome, PURGE } from "../links/acts";
import { BulkFailures } from "../links/BulkFailures";
import { BulkBar, BulkButton } from "../links/list/BulkBar";
import styles from "../links/list/LinksPage.module.css";
import { useSelection } from "../links/list/selection";
import { hasExpired, type Link } from "../links/queries";
import { ReviveDialog } from "../links/ReviveDialog";
import { useRunner } from "../links/running";
import { useTexts } from "../strings/language";
import { trash } from "../strings/trash";
import { Confirm } from "../ui/Confirm";
import { useFormats } from "../ui/format";
import { toast } from "../ui/toasts";
import { TrashTable } from "./TrashTable";

interface Props {
  workspaceId: number | null;
  mayWrite: boolean;
  where: string;
  links: readonly Link[];
  isBusy: boolean;
  pager: ReactNode;
}

type Asked = { what: "restore" | "purge"; links: readonly Link[] } | { what: "revive"; link: Link };

/** A page of the trash, and what can be done with it. */
export function TrashList({ workspaceId, mayWrite, where, links, isBusy, pager }: Props) {
  const words = useTexts(trash);
  const selection = useSelection(where, links);
  const runner = useRunner(workspaceId);
  const [asked, setAsked] = useState<Asked | null>(null);
  const chosen = selection.links;
  const run = async (started: Promise<Outcome>) => {
    const { failed } = await started;
    selection.set(failed.map(({ link }) => link));
  };
  const restore = (wanted: readonly Link[]) => {
    const [only] = wanted;
    if (!wanted.some(hasExpired)) void run(runner.restore(wanted));
    else if (wanted.length === 1 && only) setAsked({ what: "revive", link: only });
    else setAsked({ what: "restore", links: wanted });
  };
  const close = () => setAsked(null);
  return (
    <>
      <div className={`panel ${styles.pages}`} aria-busy={isBusy}>
        <TrashTable
          links={links}
          selection={mayWrite ? selection : null}
          onRestore={(link) => restore([link])}
          onPurge={(link) => setAsked({ what: "purge", links: [link] })}
        />
        {pager}
      </div>
      <BulkBar count={chosen.length} running={runner.running} onClear={() => selection.set([])}>
        <BulkButton icon="restore" onClick={() => restore(chosen)}>
          {words.restore}
        </BulkButton>
        <BulkButton icon="bin" isBad onClick={() => setAsked({ what: "purge", links: chosen })}>
          {words.purge}
        </BulkButton>
      </BulkBar>
      {asked?.what === "restore" && (
        <RestoreMany
          links={asked.links}
          act={() => run(runner.restore(asked.links))}
          onClose={close}
        />
      )}
      {asked?.what === "purge" && (
        <Purge
          links={asked.links}
          act={(say) => run(runner.run(PURGE, asked.links, say))}
          onClose={close}
        />
      )}
      {asked?.what === "revive" && (
        <ReviveDialog link={asked.link} workspaceId={workspaceId} onClose={close} />
      )}
      {runner.failed && <BulkFailures outcome={runner.failed} onClose={runner.dismiss} />}
    </>
  );
}

function RestoreMany(props: {
  links: readonly Link[];
  act: () => Promise<void>;
  onClose: () => void;
}) {
  const words = useTexts(trash);
  const { number } = useFormats();
  const expired = props.links.filter(hasExpired).length;
  return (
    <Confirm
      title={words.restoreTitle(number(props.links.length))}
      verb={words.restore}
      act={props.act}
      onClose={props.onClose}
    >
      <p>{words.restoreText(number(expired))}</p>
    </Confirm>
  );
}

function Purge(props: {
  links: readonly Link[];
  act: (say: (done: readonly Link[]) => void) => Promise<void>;
  onClose: () => void;
}) {
  const words = useTexts(trash);
  const { number } = useFormats();
  const [only] = props.links;
  return (
    <Confirm
      title={words.purgeTitle(number(props.links.length))}
      verb={words.purge}
      isDangerous
      act={() => props.act((done) => toast(words.purgeDone(number(done.length))))}
      onClose={props.onClose}
    >
      {props.links.length === 1 && <p className="mono">/{only?.short_code}</p>}
      <p>{words.purgeText}</p>
    </Confirm>
  );
}
