import { api, need } from "../api/client";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import { CutNote } from "../ui/CutNote";
import { type Column, DataTable } from "../ui/DataTable";
import { RevokeButton } from "../ui/RevokeButton";
import { Failed } from "../ui/states";
import { timeColumn } from "../ui/timeColumn";
import { type Invitation, type Member, useInvitations } from "./queries";
import styles from "./workspaces.module.css";

/** Links that were handed out and that nobody has followed yet. */
export function Invitations(props: { workspaceId: number; members: readonly Member[] }) {
  const words = useTexts(texts);
  const invitations = useInvitations(props.workspaceId);
  if (invitations.isLoadingError) {
    return <Failed error={invitations.error} retry={invitations.refetch} />;
  }
  if (!invitations.data?.length) return null;
  const emails = new Map(props.members.map(({ account_id, email }) => [account_id, email]));
  const columns: Column<Invitation>[] = [
    { head: words.role, className: styles.name, cell: ({ role }) => words[role ?? "viewer"] },
    {
      head: words.invitedBy,
      kind: "dim",
      label: true,
      cell: ({ created_by: by }) => emails.get(by ?? 0) ?? "–",
    },
    timeColumn(words.made, (it) => it.created_at),
    timeColumn(words.expires, (it) => it.expires_at),
    { head: words.acts, kind: "corner", cell: (it) => <Withdraw invitation={it} /> },
  ];
  return (
    <Card title={words.invitations} text={words.invitationsText} isFull>
      <DataTable columns={columns} rows={invitations.data} keyOf={(it) => it.id} />
      <CutNote of={invitations.data} />
    </Card>
  );
}

function Withdraw({ invitation }: { invitation: Invitation }) {
  const words = useTexts(texts);
  const url = "/api/v1/workspaces/{workspace_id}/invitations/{invitation_id}";
  const path = { workspace_id: invitation.workspace_id ?? 0, invitation_id: invitation.id };
  return (
    <RevokeButton
      label={words.withdrawOf(words[invitation.role ?? "viewer"])}
      title={words.withdrawTitle}
      text={words.withdrawText}
      act={() => need(api.DELETE(url, { params: { path } }))}
      renews={["workspaces"]}
      said={words.withdrawn}
    />
  );
}
