import { NativeSelect } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, need, Problem } from "../api/client";
import type { Role } from "../app/space";
import { useTexts } from "../strings/language";
import { useProblemText } from "../strings/problems";
import { workspaces as texts } from "../strings/workspaces";
import { Asking, Confirm } from "../ui/Confirm";
import { type Column, DataTable } from "../ui/DataTable";
import { IconButton } from "../ui/IconButton";
import { Tag } from "../ui/Tag";
import { timeColumn } from "../ui/timeColumn";
import { toast } from "../ui/toasts";
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

export function MemberTable({ members, workspaceId, ownId, mayManage }: Props) {
  const words = useTexts(texts);
  const isMe = (member: Member) => member.account_id === ownId;
  const columns: Column<Member>[] = [
    {
      head: words.member,
      className: styles.name,
      cell: (member) => (
        <>
          {member.email} {isMe(member) && <Tag>{words.you}</Tag>}
        </>
      ),
    },
    {
      head: words.role,
      cell: (member) =>
        mayManage ? (
          <RoleSelect workspaceId={workspaceId} member={member} isMe={isMe(member)} />
        ) : (
          words[member.role]
        ),
    },
    timeColumn(words.joined, (member) => member.created_at),
  ];
  if (mayManage) {
    columns.push({
      head: words.acts,
      kind: "corner",
      cell: (member) => !isMe(member) && <Remove workspaceId={workspaceId} member={member} />,
    });
  }
  return <DataTable columns={columns} rows={members} keyOf={(member) => member.account_id} />;
}

function RoleSelect(props: { workspaceId: number; member: Member; isMe: boolean }) {
  const words = useTexts(texts);
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
    onError: (error) =>
      toast(error instanceof Problem ? sentence(error) : words.failed, { isBad: true }),
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
  const path = { workspace_id: workspaceId, account_id: member.account_id };
  return (
    <Asking
      button={(ask) => <IconButton icon="bin" label={words.remove(member.email)} onClick={ask} />}
      title={words.removeTitle}
      verb={words.removeVerb}
      isDangerous
      act={() => need(api.DELETE(PATH, { params: { path } }))}
      renews={["workspaces"]}
      said={words.removed(member.email)}
    >
      {words.removeText(member.email)}
    </Asking>
  );
}
