import { Button } from "@mantine/core";
import { useState } from "react";
import { useMay, useWorkspaceId } from "../app/space";
import { domains as texts } from "../strings/domains";
import { useTexts } from "../strings/language";
import { CutNote } from "../ui/CutNote";
import { Icon } from "../ui/Icon";
import { PageHead } from "../ui/PageHead";
import { Empty, Failed, Loading } from "../ui/states";
import { AddDomain } from "./AddDomain";
import { DomainCard } from "./DomainCard";
import { FrontCard } from "./FrontCard";
import { useDomains, useWorkspace } from "./queries";

/** Names of its own that a workspace's links stand under. */
export default function DomainsPage() {
  const words = useTexts(texts);
  const workspaceId = useWorkspaceId() ?? 0;
  const { manage } = useMay(workspaceId);
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <PageHead title={words.title}>
        {manage && (
          <Button leftSection={<Icon name="plus" size={18} />} onClick={() => setAdding(true)}>
            {words.add}
          </Button>
        )}
      </PageHead>
      <Cards workspaceId={workspaceId} mayManage={manage} onAdd={() => setAdding(true)} />
      {isAdding && <AddDomain workspaceId={workspaceId} onClose={() => setAdding(false)} />}
    </>
  );
}

function Cards(props: { workspaceId: number; mayManage: boolean; onAdd: () => void }) {
  const words = useTexts(texts);
  const domains = useDomains(props.workspaceId);
  const workspace = useWorkspace(props.workspaceId);
  if (domains.isLoadingError) return <Failed error={domains.error} retry={domains.refetch} />;
  if (workspace.isLoadingError) return <Failed error={workspace.error} retry={workspace.refetch} />;
  if (domains.isPending || workspace.isPending) return <Loading />;
  if (domains.data.length === 0) {
    return (
      <Empty
        icon="globe"
        title={words.none}
        text={props.mayManage ? words.noneText : words.noneViewer}
      >
        {props.mayManage && <Button onClick={props.onAdd}>{words.add}</Button>}
      </Empty>
    );
  }
  return (
    <>
      {domains.data.map((domain) => (
        <DomainCard
          key={domain.host}
          domain={domain}
          workspace={workspace.data}
          mayManage={props.mayManage}
        />
      ))}
      <CutNote of={domains.data} />
      <FrontCard
        key={workspace.data.root_url ?? ""}
        workspace={workspace.data}
        mayManage={props.mayManage}
      />
    </>
  );
}
