import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import form from "../ui/form.module.css";
import { useFormats, useNow } from "../ui/format";
import { Meter } from "../ui/Meter";
import { Failed } from "../ui/states";
import { useQuota } from "./queries";
import styles from "./workspaces.module.css";

const HIGH = 0.8; // from here on it is worth a look

/** How much of the month is used, by a workspace or (null) by oneself. */
export function QuotaCard({ workspaceId }: { workspaceId: number | null }) {
  const words = useTexts(texts);
  const quota = useQuota(workspaceId);
  if (quota.isLoadingError) return <Failed error={quota.error} retry={quota.refetch} />;
  if (!quota.data) return null;
  const { links_per_month: all, links_this_month: used, resets_at } = quota.data;
  return (
    <Card title={words.quota} text={words.quotaBy}>
      {all === null || used === null || resets_at === null ? (
        <p className={form.text}>{words.quotaNone}</p>
      ) : (
        <Use all={all} used={used} resetsAt={resets_at} />
      )}
    </Card>
  );
}

function Use({ all, used, resetsAt }: { all: number; used: number; resetsAt: string }) {
  const words = useTexts(texts);
  const { number, relative } = useFormats();
  const share = all === 0 ? 1 : used / all;
  return (
    <div className={form.narrow}>
      <p className={styles.use}>{words.quotaUse(number(used), number(all))}</p>
      <Meter share={share} tone={share < HIGH ? "good" : share < 1 ? "warning" : "bad"} />
      <p className={form.dim}>{words.quotaText(relative(new Date(resetsAt), useNow()))}</p>
    </div>
  );
}
