import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { api, need, type Schemas } from "../api/client";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Confirm } from "../ui/Confirm";
import { type Column, DataTable } from "../ui/DataTable";
import { useFormats } from "../ui/format";
import { Pager, usePages } from "../ui/Pager";
import { Failed, Loading } from "../ui/states";
import { Tag } from "../ui/Tag";
import { timeColumn } from "../ui/timeColumn";
import styles from "./admin.module.css";
import { useWorkspacePage } from "./queries";

type Workspace = Schemas["WorkspaceRead"];

/** All workspaces, and how much may be made in each. */
export function Workspaces() {
  const words = useTexts(texts);
  const { number } = useFormats();
  const pages = usePages("workspaces");
  const workspaces = useWorkspacePage(pages.cursor);
  const [asked, setAsked] = useState<Workspace | null>(null);
  if (workspaces.isLoadingError)
    return <Failed error={workspaces.error} retry={workspaces.refetch} />;
  if (workspaces.isPending) return <Loading />;
  if (!workspaces.data.workspaces.length)
    return <Card title={words.workspaces} text={words.noWorkspaces} />;
  const columns: Column<Workspace>[] = [
    {
      head: words.workspace,
      className: styles.person,
      cell: (workspace) => (
        <>
          <b>{workspace.name}</b>
          <span className={`mono ${styles.slug}`}>@{workspace.slug}</span>
          {workspace.deleted_at && <Tag>{words.DELETED}</Tag>}
        </>
      ),
    },
    {
      head: words.quota,
      kind: "number",
      label: true,
      cell: ({ links_per_month: quota }) =>
        quota === null ? <span className={styles.count}>{words.unlimited}</span> : number(quota),
    },
    timeColumn(words.created, (workspace) => workspace.created_at),
    {
      head: words.acts,
      kind: "acts",
      cell: (workspace) => (
        <Button
          variant="default"
          size="xs"
          aria-label={words.editQuotaOf(workspace.name)}
          onClick={() => setAsked(workspace)}
        >
          {words.editQuota}
        </Button>
      ),
    },
  ];
  return (
    <Card title={words.workspaces} isFull>
      <DataTable columns={columns} rows={workspaces.data.workspaces} keyOf={(item) => item.id} />
      <Pager
        pages={pages}
        next={workspaces.data.next_cursor ?? null}
        isBusy={workspaces.isPlaceholderData}
      />
      {asked && <Quota workspace={asked} onClose={() => setAsked(null)} />}
    </Card>
  );
}

function Quota({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const words = useTexts(texts);
  const [text, setText] = useState(workspace.links_per_month?.toString() ?? "");
  const typed = text.trim();
  const save = () => {
    const params = { path: { workspace_id: workspace.id } };
    const body = { links_per_month: typed ? Number(typed) : null };
    return need(api.PUT("/api/v1/admin/workspaces/{workspace_id}/quota", { params, body }));
  };
  return (
    <Confirm
      title={words.quotaTitle(workspace.name)}
      verb={words.save}
      isDisabled={!/^\d{0,12}$/.test(typed)}
      act={save}
      renews={["admin", "workspaces"]}
      said={words.quotaSaved}
      onClose={onClose}
    >
      <TextInput
        label={words.quota}
        data-autofocus
        description={words.quotaText}
        inputMode="numeric"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </Confirm>
  );
}
