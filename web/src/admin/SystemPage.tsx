import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Icon } from "../ui/Icon";
import { Failed, Loading } from "../ui/states";
import { AdminFrame } from "./AdminFrame";
import { JobsCard } from "./JobsCard";
import { Lamps } from "./Lamps";
import { ListsCard } from "./ListsCard";
import { useSystem } from "./queries";
import { SystemFacts } from "./SystemFacts";
import styles from "./SystemPage.module.css";

/** How the instance is: lamps first, then the facts behind them. */
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
        <Lamps lamps={system.data.lamps} />
        <SystemFacts system={system.data} />
        <JobsCard jobs={system.data.jobs} at={system.data.told_at} />
        <ListsCard lists={system.data.lists} />
      </div>
    </>
  );
}
