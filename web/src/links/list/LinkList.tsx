import { Button } from "@mantine/core";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { usePages, useWayBack } from "../../ui/Pager";
import { Empty, Failed, Loading } from "../../ui/states";
import { BulkFailures } from "../BulkFailures";
import { EditDialog } from "../form/EditDialog";
import { QrDialog } from "../QrDialog";
import { type Link, type LinkPage, useLinks } from "../queries";
import { ReviveDialog } from "../ReviveDialog";
import { type Runner, useRunner } from "../running";
import type { FilterState } from "./filter";
import { LinkBulk } from "./LinkBulk";
import { LinkPager } from "./LinkPager";
import styles from "./LinksPage.module.css";
import { LinkTable } from "./LinkTable";
import type { RowActs } from "./RowMenu";
import { useSelection } from "./selection";

interface Props {
  workspaceId: number | null;
  mayWrite: boolean;
  state: FilterState;
  /** The button that makes a link, if somebody may. */
  create: ReactNode;
  onExport: (links: readonly Link[]) => void;
}

/** The form stands beside the list: whatever becomes of that, what is typed stays. */
export function LinkList(props: Props) {
  const [edited, setEdited] = useState<Link | null>(null);
  return (
    <>
      <Pages {...props} onEdit={setEdited} />
      {edited && (
        <EditDialog link={edited} workspaceId={props.workspaceId} onClose={() => setEdited(null)} />
      )}
    </>
  );
}

type Editing = Props & { onEdit: (link: Link) => void };

/** Begins at the first page whenever the filter changes; what was there stays until then. */
function Pages(props: Editing) {
  const { workspaceId, state } = props;
  const where = JSON.stringify([workspaceId, state.filter]);
  const pages = usePages(where);
  const page = useLinks(workspaceId, state.filter, pages.cursor);
  const isGone = useWayBack(pages, page.data?.links.length === 0 && !page.isPlaceholderData);
  if (page.isLoadingError) return <Failed error={page.error} retry={page.refetch} />;
  if (page.isPending || isGone) return <Loading />;
  if (page.data.links.length === 0) return <Nothing state={state} create={props.create} />;
  const pager = <LinkPager pages={pages} page={page.data} isBusy={page.isPlaceholderData} />;
  return (
    <Page {...props} where={where} page={page.data} isBusy={page.isPlaceholderData}>
      {pager}
    </Page>
  );
}

function Page({
  where,
  page,
  isBusy,
  children,
  ...props
}: Editing & { where: string; page: LinkPage; isBusy: boolean; children: ReactNode }) {
  const { workspaceId, state } = props;
  const selection = useSelection(where, page.links);
  const runner = useRunner(workspaceId);
  const [qr, setQr] = useState<Link | null>(null);
  const [expired, setExpired] = useState<Link | null>(null);
  const acts = useRowActs(props, runner, setQr, setExpired);
  return (
    <>
      <div className={`panel ${styles.pages}`} aria-busy={isBusy}>
        <LinkTable
          links={page.links}
          workspaceId={workspaceId}
          state={state}
          selection={selection}
          acts={acts}
        />
        {children}
      </div>
      <LinkBulk
        workspaceId={workspaceId}
        mayWrite={props.mayWrite}
        selection={selection}
        runner={runner}
        onExport={props.onExport}
      />
      {runner.failed && <BulkFailures outcome={runner.failed} onClose={runner.dismiss} />}
      {qr && <QrDialog link={qr} onClose={() => setQr(null)} />}
      {expired && (
        <ReviveDialog link={expired} workspaceId={workspaceId} onClose={() => setExpired(null)} />
      )}
    </>
  );
}

/** The same object as long as the same is allowed: rows are not drawn again. */
function useRowActs(
  { mayWrite, state, onEdit }: Editing,
  runner: Runner,
  onQr: (link: Link) => void,
  onRevive: (link: Link) => void,
): RowActs {
  const now = useRef({ runner, state });
  now.current = { runner, state };
  return useMemo(() => {
    const acts: RowActs = { onTag: (tag) => now.current.state.change({ tag }), onQr };
    if (!mayWrite) return acts;
    return {
      ...acts,
      onEdit,
      onPause: (link) => void now.current.runner.pause([link]),
      onResume: (link) => void now.current.runner.resume([link]),
      onDelete: (link) => void now.current.runner.remove([link]),
      onRevive,
    };
  }, [mayWrite, onQr, onEdit, onRevive]);
}

function Nothing({ state, create }: { state: FilterState; create: ReactNode }) {
  const words = useTexts(texts);
  if (state.isFiltered) {
    return (
      <Empty icon="search" title={words.noMatch} text={words.noMatchText}>
        <Button variant="default" onClick={state.clear}>
          {words.clear}
        </Button>
      </Empty>
    );
  }
  return (
    <Empty icon="link" title={words.none} text={create ? words.noneText : words.noneToSee}>
      {create}
    </Empty>
  );
}
