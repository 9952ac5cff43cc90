import { NativeSelect } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, need, Problem } from "../api/client";
import type { Role } from "../app/place";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { useProblemText } from "../strings/problems";
import { workspaces as texts } from "../strings/workspaces";
import { Confirm } from "../ui/Confirm";
import { IconButton } from "../ui/IconButton";
import table from "../ui/table.module.css";
import { toast } from "../ui/toasts";
import { When } from "../ui/When";
import { type Member, useRenewal } from "./queries";
import { ROLES } from "./RoleChoice";
import styles from "./workspaces.module.css";

const PATH = "/api/v1/workspaces/{workspace_id}/members/{account_id}";

interface Props {
  workspaceId: number;
  members: readonly Member[];
  ownId: number;
  mayManage: boolean;
}

export function MemberTable({ members, ...place }: Props) {
  const words = useTexts(texts);
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">{words.member}</th>
          <th scope="col">{words.role}</th>
          <th scope="col">{words.joined}</th>
          {place.mayManage && (
            <th scope="col">
              <span className="unseen">{words.acts}</span>
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {members.map((member) => (
          <Row key={member.account_id} member={member} {...place} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ member, ...place }: Omit<Props, "members"> & { member: Member }) {
  const words = useTexts(texts);
  const isMe = member.account_id === place.ownId;
  return (
    <tr>
      <td className={styles.name}>
        {member.email}
        {isMe && <span className={styles.you}>{words.you}</span>}
      </td>
      <td>
        {place.mayManage ? (
          <RoleSelect workspaceId={place.workspaceId} member={member} isMe={isMe} />
        ) : (
          words[member.role]
        )}
      </td>
      <td className={table.dim} data-label={words.joined}>
        <When at={member.created_at} />
      </td>
      {place.mayManage && (
        <td className={`${table.acts} ${table.corner}`}>
          {!isMe && <Remove workspaceId={place.workspaceId} member={member} />}
        </td>
      )}
    </tr>
  );
}

function RoleSelect(props: { workspaceId: number; member: Member; isMe: boolean }) {
  const words = useTexts(texts);
  const { failed } = useTexts(common);
  const sentence = useProblemText();
  const renew = useRenewal();
  const { account_id, email, role } = props.member;
  const [wanted, setWanted] = useState<Role | null>(null);
  const path = { workspace_id: props.workspaceId, account_id };
  const set = async (next: Role) => {
    await need(api.PATCH(PATH, { params: { path }, body: { role: next } }));
    await renew();
    toast(words.roleChanged(email, words[`as${next}`]));
  };
  const change = useMutation({
    mutationFn: set,
    onError: (error) => toast(error instanceof Problem ? sentence(error) : failed, { isBad: true }),
  });
  return (
    <>
      <NativeSelect
        className={styles.role ?? ""}
        aria-label={words.roleOf(email)}
        disabled={change.isPending}
        value={change.isPending ? change.variables : role}
        onChange={(event) => {
          const next = event.currentTarget.value as Role;
          if (props.isMe) setWanted(next);
          else change.mutate(next);
        }}
        data={ROLES.map((value) => ({ value, label: words[value] }))}
      />
      {wanted && (
        <Confirm
          title={words.ownRoleTitle}
          verb={words.ownRoleVerb}
          act={() => set(wanted)}
          onClose={() => setWanted(null)}
        >
          {words.ownRoleText(words[`as${wanted}`])}
        </Confirm>
      )}
    </>
  );
}

function Remove({ workspaceId, member }: { workspaceId: number; member: Member }) {
  const words = useTexts(texts);
  const renew = useRenewal();
  const [isAsking, setAsking] = useState(false);
  const path = { workspace_id: workspaceId, account_id: member.account_id };
  const remove = async () => {
    await need(api.DELETE(PATH, { params: { path } }));
    await renew();
    toast(words.removed(member.email));
  };
  return (
    <>
      <IconButton icon="bin" label={words.remove(member.email)} onClick={() => setAsking(true)} />
      {isAsking && (
        <Confirm
          title={words.removeTitle}
          verb={words.removeVerb}
          isDangerous
          act={remove}
          onClose={() => setAsking(false)}
        >
          {words.removeText(member.email)}
        </Confirm>
      )}
    </>
  );
}
