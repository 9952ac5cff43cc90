import { Button } from "@mantine/core";
import { useCallback, useRef, useState } from "react";
import { useMayEditLinks, useWorkspaceId } from "../../app/space";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { ExportDialog } from "../../transfer/ExportDialog";
import { Icon } from "../../ui/Icon";
import { PageHead } from "../../ui/PageHead";
import { CreateDialog } from "../form/CreateDialog";
import type { Link } from "../queries";
import { useFilter } from "./filter";
import { LinkFilter } from "./LinkFilter";
import { LinkList } from "./LinkList";
import { LinksMenu } from "./LinksMenu";
import { KeysDialog, useRowKeys } from "./RowKeys";

/** The pattern of a list: the filter in the address, pages from the server, four states. */
export default function LinksPage() {
  const words = useTexts(texts);
  const workspaceId = useWorkspaceId();
  const mayWrite = useMayEditLinks(workspaceId);
  const state = useFilter();
  const search = useRef<HTMLInputElement>(null);
  const [exported, setExported] = useState<readonly Link[] | null>(null);
  const [isCreating, setCreating] = useState(false);
  const onCreate = useCallback(() => setCreating(true), []);
  const onSearch = useCallback(() => search.current?.focus(), []);
  const { isHelpOpen, setHelpOpen } = useRowKeys({
    onSearch,
    onCreate: mayWrite ? onCreate : null,
  });
  const create = mayWrite && (
    <Button leftSection={<Icon name="plus" size={18} />} onClick={onCreate}>
      {words.create}
    </Button>
  );
  return (
    <>
      <PageHead title={words.title}>
        <LinksMenu
          workspaceId={workspaceId}
          mayWrite={mayWrite}
          onExport={() => setExported([])}
          onKeys={() => setHelpOpen(true)}
        />
        {create}
      </PageHead>
      <LinkFilter
        key={String(workspaceId)}
        workspaceId={workspaceId}
        state={state}
        searchRef={search}
      />
      <LinkList
        workspaceId={workspaceId}
        mayWrite={mayWrite}
        state={state}
        create={create}
        onExport={setExported}
      />
      {isCreating && <CreateDialog workspaceId={workspaceId} onClose={() => setCreating(false)} />}
      {isHelpOpen && <KeysDialog onClose={() => setHelpOpen(false)} />}
      {exported && (
        <ExportDialog
          workspaceId={workspaceId}
          state={state}
          selected={exported}
          onClose={() => setExported(null)}
        />
      )}
    </>
  );
}
