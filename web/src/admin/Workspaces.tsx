import { Button, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, need, type Schemas } from "../api/client";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Confirm } from "../ui/Confirm";
import { useFormats } from "../ui/format";
import { Pager, usePages } from "../ui/Pager";
import { Failed, Loading } from "../ui/states";
import table from "../ui/table.module.css";
import { toast } from "../ui/toasts";
import { When } from "../ui/When";
import styles from "./admin.module.css";
import { useWorkspacePage } from "./queries";

type Workspace = Schemas["WorkspaceRead"];

/** All workspaces, and how much may be made in each. */
export function Workspaces() {
  const words = useTexts(texts);
  const pages = usePages("workspaces");
  const workspaces = useWorkspacePage(pages.cursor);
  const [asked, setAsked] = useState<Workspace | null>(null);
  if (workspaces.isLoadingError)
    return <Failed error={workspaces.error} retry={workspaces.refetch} />;
  if (workspaces.isPending) return <Loading />;
  if (!workspaces.data.workspaces.length)
    return <Card title={words.workspaces} text={words.noWorkspaces} />;
  return (
    <Card title={words.workspaces} isFull>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.workspace}</th>
            <th scope="col" className={table.number}>
              {words.quota}
            </th>
            <th scope="col">{words.since}</th>
            <th scope="col">
              <span className="unseen">{words.acts}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {workspaces.data.workspaces.map((item) => (
            <Row key={item.id} workspace={item} edit={() => setAsked(item)} />
          ))}
        </tbody>
      </table>
      <Pager
        pages={pages}
        next={workspaces.data.next_cursor ?? null}
        isBusy={workspaces.isPlaceholderData}
      />
      {asked && <Quota workspace={asked} onClose={() => setAsked(null)} />}
    </Card>
  );
}

function Row({ workspace, edit }: { workspace: Workspace; edit: () => void }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const quota = workspace.links_per_month;
  return (
    <tr>
      <td className={styles.person}>
        <b>{workspace.name}</b>
        <span className={`mono ${styles.slug}`}>@{workspace.slug}</span>
        {workspace.deleted_at && <span className={styles.tag}>{words.deleted}</span>}
      </td>
      <td className={table.number} data-label={words.quota}>
        {quota === null ? <span className={table.dim}>{words.unlimited}</span> : number(quota)}
      </td>
      <td className={table.dim} data-label={words.since}>
        <When at={workspace.created_at} />
      </td>
      <td className={table.acts}>
        <Button
          variant="default"
          size="xs"
          aria-label={words.editQuotaOf(workspace.name)}
          onClick={edit}
        >
          {words.editQuota}
        </Button>
      </td>
    </tr>
  );
}

function Quota({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const [text, setText] = useState(workspace.links_per_month?.toString() ?? "");
  const typed = text.trim();
  const run = async () => {
    const params = { path: { workspace_id: workspace.id } };
    const body = { links_per_month: typed ? Number(typed) : null };
    await need(api.PUT("/api/v1/admin/workspaces/{workspace_id}/quota", { params, body }));
    await queries.invalidateQueries({ queryKey: ["admin", "workspaces"] });
    toast(words.quotaSaved);
  };
  return (
    <Confirm
      title={words.quotaTitle(workspace.name)}
      verb={words.quotaSave}
      isDisabled={!/^\d{0,12}$/.test(typed)}
      act={run}
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
