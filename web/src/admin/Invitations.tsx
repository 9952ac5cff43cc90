import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "../api/client";
import { admin } from "../strings/admin";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Confirm } from "../ui/Confirm";
import { Failed, Loading } from "../ui/states";
import table from "../ui/table.module.css";
import { toast } from "../ui/toasts";
import { When } from "../ui/When";
import { useEmails, useInvitations } from "./queries";

/** Links that let somebody make an account, and were not used yet. */
export function Invitations() {
  const words = useTexts(texts);
  const { operator, unknownPerson } = useTexts(admin);
  const invitations = useInvitations();
  const emailOf = useEmails();
  const [asked, setAsked] = useState<number | null>(null);
  if (invitations.isLoadingError)
    return <Failed error={invitations.error} retry={invitations.refetch} />;
  if (invitations.isPending) return <Loading />;
  if (!invitations.data.length) {
    return <Card title={words.invitations} text={words.noInvitations} />;
  }
  return (
    <Card title={words.invitations} isFull>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.madeBy}</th>
            <th scope="col">{words.made}</th>
            <th scope="col">{words.expires}</th>
            <th scope="col">
              <span className="unseen">{words.acts}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {invitations.data.map((item) => (
            <tr key={item.id}>
              <td>
                {item.created_by === null ? operator : (emailOf(item.created_by) ?? unknownPerson)}
              </td>
              <td className={table.dim} data-label={words.made}>
                <When at={item.created_at} />
              </td>
              <td className={table.dim} data-label={words.expires}>
                <When at={item.expires_at} />
              </td>
              <td className={table.acts}>
                <Button variant="default" size="xs" onClick={() => setAsked(item.id)}>
                  {words.withdraw}
                </Button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {asked !== null && <Withdraw invitationId={asked} onClose={() => setAsked(null)} />}
    </Card>
  );
}

function Withdraw({ invitationId, onClose }: { invitationId: number; onClose: () => void }) {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const run = async () => {
    const params = { path: { invitation_id: invitationId } };
    await need(api.DELETE("/api/v1/admin/invitations/{invitation_id}", { params }));
    await queries.invalidateQueries({ queryKey: ["admin", "invitations"] });
    toast(words.withdrawn);
  };
  return (
    <Confirm
      title={words.withdrawAsk}
      verb={words.withdraw}
      isDangerous
      act={run}
      onClose={onClose}
    >
      <p>{words.withdrawText}</p>
    </Confirm>
  );
}
