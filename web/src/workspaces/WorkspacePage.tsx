import { useMay, useWorkspaceId } from "../app/space";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { PageHead } from "../ui/PageHead";
import { Failed, Loading } from "../ui/states";
import { DeleteCard } from "./DeleteCard";
import { QuotaCard } from "./QuotaCard";
import { useWorkspace } from "./queries";
import { SettingsCard } from "./SettingsCard";
import { SettingsFacts } from "./SettingsFacts";

/** What a workspace is called, how its links are made, and its end. */
export default function WorkspacePage() {
  const { settings: title } = useTexts(app);
  const workspaceId = useWorkspaceId() ?? 0;
  return (
    <>
      <PageHead title={title} />
      <Parts workspaceId={workspaceId} />
    </>
  );
}

function Parts({ workspaceId }: { workspaceId: number }) {
  const workspace = useWorkspace(workspaceId);
  const { manage } = useMay(workspaceId);
  if (workspace.isLoadingError) return <Failed error={workspace.error} retry={workspace.refetch} />;
  if (workspace.isPending) return <Loading />;
  return (
    <>
      {manage ? (
        <SettingsCard key={workspaceId} workspace={workspace.data} />
      ) : (
        <SettingsFacts workspace={workspace.data} />
      )}
      <QuotaCard workspaceId={workspaceId} />
      {manage && <DeleteCard workspace={workspace.data} />}
    </>
  );
}
