import { Button } from "@mantine/core";
import { useState } from "react";
import { useMe } from "../api/session";
import { useMay, useWorkspaceId, useWorkspaces } from "../app/space";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import { CutNote } from "../ui/CutNote";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/PageHead";
import { Failed, Loading } from "../ui/states";
import { HandOver, Leave } from "./Departure";
import { Invitations } from "./Invitations";
import { InviteDialog } from "./InviteDialog";
import { MemberTable } from "./MemberTable";
import { useMembers } from "./queries";

/** Who is in a workspace, who is invited, and the ways out of it. */
export default function MembersPage() {
  const words = useTexts(texts);
  const { members: title } = useTexts(app);
  const workspaceId = useWorkspaceId() ?? 0;
  const { manage } = useMay(workspaceId);
  const [isInviting, setInviting] = useState(false);
  return (
    <>
      <PageHead title={title}>
        {manage && (
          <Button leftSection={<Icon name="plus" size={18} />} onClick={() => setInviting(true)}>
            {words.invite}
          </Button>
        )}
      </PageHead>
      <Parts workspaceId={workspaceId} mayManage={manage} />
      {isInviting && <InviteDialog workspaceId={workspaceId} onClose={() => setInviting(false)} />}
    </>
  );
}

function Parts({ workspaceId, mayManage }: { workspaceId: number; mayManage: boolean }) {
  const words = useTexts(texts);
  const { data: workspaces } = useWorkspaces();
  const members = useMembers(workspaceId);
  const { data: me } = useMe();
  if (members.isLoadingError) return <Failed error={members.error} retry={members.refetch} />;
  if (members.isPending || !me) return <Loading />;
  const others = members.data.filter((member) => member.account_id !== me.id);
  const title = workspaces?.find(({ id }) => id === workspaceId)?.name ?? "";
  return (
    <>
      <Card title={title} text={words.membersText} isFull>
        <MemberTable
          workspaceId={workspaceId}
          members={members.data}
          ownId={me.id}
          mayManage={mayManage}
        />
        <CutNote of={members.data} />
      </Card>
      {mayManage && <Invitations workspaceId={workspaceId} members={members.data} />}
      {mayManage && others.length > 0 && <HandOver workspaceId={workspaceId} others={others} />}
      <Leave workspaceId={workspaceId} ownId={me.id} />
    </>
  );
}
