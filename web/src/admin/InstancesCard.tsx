import { health } from "../strings/adminHealth";
import { system as texts } from "../strings/adminSystem";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { type Column, DataTable } from "../ui/DataTable";
import { timeColumn } from "../ui/timeColumn";
import type { RunningInstance } from "./queries";
import styles from "./SystemPage.module.css";

/** The servers that share the database. Shows nothing for a single one: its own card says the same. */
export function InstancesCard({ instances }: { instances: readonly RunningInstance[] | null }) {
  const words = useTexts(texts);
  const { instances: title } = useTexts(health);
  if (!instances || instances.length < 2) return null;
  const columns: Column<RunningInstance>[] = [
    { head: words.version, cell: (it) => <b className={styles.name}>{it.version}</b> },
    { head: words.schema, kind: "dim", label: true, cell: (it) => it.schema_version },
    timeColumn(words.lastSeen, (it) => it.seen_at),
  ];
  return (
    <Card title={title} text={words.instancesText} isFull>
      <DataTable columns={columns} rows={instances} keyOf={(it) => it.id} />
    </Card>
  );
}
