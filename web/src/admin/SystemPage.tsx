import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Icon } from "../ui/Icon";
import { Failed, Loading } from "../ui/states";
import { AdminFrame } from "./AdminFrame";
import { Health } from "./Health";
import { InstancesCard } from "./InstancesCard";
import { JobsCard } from "./JobsCard";
import { ListsCard } from "./ListsCard";
import { useSystem } from "./queries";
import { SystemFacts } from "./SystemFacts";
import styles from "./SystemPage.module.css";

/** How the instance is: its health first, then the facts behind it. */
export default function SystemPage() {
  return (
    <AdminFrame page="system">
      <System />
    </AdminFrame>
  );
}

function System() {
  const words = useTexts(texts);
  const system = useSystem();
  if (system.isPending) return <Loading />;
  if (!system.data) return <Failed error={system.error} retry={system.refetch} />;
  return (
    <>
      {system.isError && (
        <p className={styles.stale} role="alert">
          <Icon name="warn" />
          {words.stale}
        </p>
      )}
      <div className={styles.system} data-stale={system.isError || undefined}>
        <Health components={system.data.health.components} />
        <SystemFacts system={system.data} />
        <InstancesCard instances={system.data.instances} />
        <JobsCard jobs={system.data.jobs} at={system.data.measured_at} />
        <ListsCard lists={system.data.lists} />
      </div>
    </>
  );
}
