import { api, need } from "../api/client";
import { baseUrl } from "../api/server";
import type { Workspace } from "../app/space";
import { domains as texts } from "../strings/domains";
import { useTexts } from "../strings/language";
import { Badge } from "../ui/Badge";
import { Asking } from "../ui/Confirm";
import { useFormats, useNow } from "../ui/format";
import { IconButton } from "../ui/IconButton";
import { bare } from "../ui/urls";
import styles from "./DomainCard.module.css";
import { DomainSteps } from "./DomainSteps";
import type { Domain } from "./queries";

interface Props {
  domain: Domain;
  workspace: Workspace;
  mayManage: boolean;
}

const LOOKS = {
  active: { tone: "good", shape: "done" },
  missing: { tone: "bad", shape: "warn" },
  waiting: { tone: "warning", shape: "clock" },
} as const;

/** A domain: its state, and what is left to do. */
export function DomainCard({ domain, workspace, mayManage }: Props) {
  const words = useTexts(texts);
  const state = stateOf(domain);
  const needsSteps = mayManage && state !== "active";
  return (
    <section className={`panel ${styles.card}`}>
      <div className={styles.head}>
        <div className={styles.title}>
          <h2 className="mono">{domain.host}</h2>
          <Badge {...LOOKS[state]}>{words[state]}</Badge>
        </div>
        {mayManage && <Remove domain={domain} workspace={workspace} />}
      </div>
      <About domain={domain} />
      {needsSteps && <DomainSteps domain={domain} workspaceId={workspace.id} />}
      {mayManage && state === "active" && (
        <details className={styles.records}>
          <summary>{words.recordsOf}</summary>
          <DomainSteps domain={domain} workspaceId={workspace.id} />
        </details>
      )}
    </section>
  );
}

function stateOf(domain: Domain): keyof typeof LOOKS {
  if (domain.missing_since) return "missing";
  return domain.is_verified ? "active" : "waiting";
}

function About({ domain }: { domain: Domain }) {
  const words = useTexts(texts);
  const { relative } = useFormats();
  const now = useNow();
  const say = (at: string) => relative(new Date(at), now);
  if (domain.missing_since) {
    const text = domain.is_verified ? words.missingText(say(domain.missing_since)) : words.lostText;
    return <p className={styles.about}>{text}</p>;
  }
  if (!domain.verified_at) return null;
  return <p className={styles.about}>{words.activeText(say(domain.verified_at))}</p>;
}

function Remove({ domain, workspace }: Omit<Props, "mayManage">) {
  const words = useTexts(texts);
  const { host } = domain;
  const params = { path: { workspace_id: workspace.id, host } };
  return (
    <Asking
      button={(ask) => <IconButton icon="bin" label={words.remove(host)} onClick={ask} />}
      title={words.removeTitle(host)}
      verb={words.removeVerb}
      isDangerous
      act={() => need(api.DELETE("/api/v1/workspaces/{workspace_id}/domains/{host}", { params }))}
      renews={["workspaces"]}
      said={words.removed(host)}
    >
      {domain.is_verified
        ? words.removeActive(`${bare(baseUrl)}/@${workspace.slug}/`)
        : words.removeWaiting}
    </Asking>
  );
}
