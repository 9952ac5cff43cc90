import { Button } from "@mantine/core";
import { useState } from "react";
import { api, need } from "../api/client";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import { Confirm } from "../ui/Confirm";
import { Failed } from "../ui/states";
import table from "../ui/table.module.css";
import { toast } from "../ui/toasts";
import { When } from "../ui/When";
import { type Invitation, type Member, useInvitations, useRenewal } from "./queries";
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
  return (
    <Card title={words.invitations} text={words.invitationsText} isFull>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.role}</th>
            <th scope="col">{words.invitedBy}</th>
            <th scope="col">{words.made}</th>
            <th scope="col">{words.ends}</th>
            <th scope="col">
              <span className="unseen">{words.acts}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {invitations.data.map((invitation) => (
            <Row
              key={invitation.id}
              invitation={invitation}
              by={emails.get(invitation.created_by ?? 0) ?? "–"}
            />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Row({ invitation, by }: { invitation: Invitation; by: string }) {
  const words = useTexts(texts);
  const [isAsking, setAsking] = useState(false);
  const renew = useRenewal();
  const role = words[invitation.role ?? "viewer"];
  const withdraw = async () => {
    const url = "/api/v1/workspaces/{workspace_id}/invitations/{invitation_id}";
    const path = { workspace_id: invitation.workspace_id ?? 0, invitation_id: invitation.id };
    await need(api.DELETE(url, { params: { path } }));
    await renew();
    toast(words.withdrawn);
  };
  return (
    <tr>
      <td className={styles.name}>{role}</td>
      <td className={table.dim} data-label={words.invitedBy}>
        {by}
      </td>
      <td className={table.dim} data-label={words.made}>
        <When at={invitation.created_at} />
      </td>
      <td className={table.dim} data-label={words.ends}>
        <When at={invitation.expires_at} />
      </td>
      <td className={`${table.acts} ${table.corner}`}>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          aria-label={words.withdrawOf(role)}
          onClick={() => setAsking(true)}
        >
          {words.withdraw}
        </Button>
        {isAsking && (
          <Confirm
            title={words.withdrawTitle}
            verb={words.withdraw}
            isDangerous
            act={withdraw}
            onClose={() => setAsking(false)}
          >
            {words.withdrawText}
          </Confirm>
        )}
      </td>
    </tr>
  );
}
