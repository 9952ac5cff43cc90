import { api, need, type Schemas } from "../api/client";
import { admin } from "../strings/admin";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { CutNote } from "../ui/CutNote";
import { type Column, DataTable } from "../ui/DataTable";
import { RevokeButton } from "../ui/RevokeButton";
import { Failed, Loading } from "../ui/states";
import { timeColumn } from "../ui/timeColumn";
import { useEmails, useInvitations } from "./queries";

type Invitation = Schemas["InvitationRead"];

/** Links that let somebody make an account, and were not used yet. */
export function Invitations() {
  const words = useTexts(texts);
  const { operator, unknownPerson } = useTexts(admin);
  const invitations = useInvitations();
  const emailOf = useEmails();
  if (invitations.isLoadingError)
    return <Failed error={invitations.error} retry={invitations.refetch} />;
  if (invitations.isPending) return <Loading />;
  if (!invitations.data.length) {
    return <Card title={words.invitations} text={words.noInvitations} />;
  }
  const columns: Column<Invitation>[] = [
    {
      head: words.madeBy,
      cell: ({ created_by: by }) => (by === null ? operator : (emailOf(by) ?? unknownPerson)),
    },
    timeColumn(words.created, (item) => item.created_at),
    timeColumn(words.expires, (item) => item.expires_at),
    { head: words.acts, kind: "acts", cell: (item) => <Withdraw invitationId={item.id} /> },
  ];
  return (
    <Card title={words.invitations} isFull>
      <DataTable columns={columns} rows={invitations.data} keyOf={(item) => item.id} />
      <CutNote of={invitations.data} />
    </Card>
  );
}

function Withdraw({ invitationId }: { invitationId: number }) {
  const words = useTexts(texts);
  const params = { path: { invitation_id: invitationId } };
  return (
    <RevokeButton
      title={words.withdrawAsk}
      text={words.withdrawText}
      act={() => need(api.DELETE("/api/v1/admin/invitations/{invitation_id}", { params }))}
      renews={["admin", "invitations"]}
      said={words.withdrawn}
    />
  );
}
