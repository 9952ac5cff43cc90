import { useState } from "react";
import { api, need } from "../api/client";
import { baseUrl } from "../api/server";
import type { Workspace } from "../app/place";
import { domains as texts } from "../strings/domains";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { useFormats, useNow } from "../ui/format";
import { Icon, type IconName } from "../ui/Icon";
import { IconButton } from "../ui/IconButton";
import { toast } from "../ui/toasts";
import { bare } from "../ui/urls";
import styles from "./DomainCard.module.css";
import { DomainSteps } from "./DomainSteps";
import { type Domain, useRenewal } from "./queries";

interface Props {
  domain: Domain;
  workspace: Workspace;
  mayManage: boolean;
}

type State = "active" | "missing" | "waiting";
const SHAPES: Record<State, IconName> = { active: "done", missing: "warn", waiting: "clock" };

/** A domain: its state, and what is left to do. */
export function DomainCard({ domain, workspace, mayManage }: Props) {
  const words = useTexts(texts);
  const state = stateOf(domain);
  const needsSteps = mayManage && state !== "active";
  return (
    <section className={styles.card}>
      <div className={styles.head}>
        <div className={styles.title}>
          <h2 className="mono">{domain.host}</h2>
          <span className={styles.state} data-state={state}>
            <Icon name={SHAPES[state]} size={16} />
            {words[state]}
          </span>
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

export function stateOf(domain: Domain): State {
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
  const renew = useRenewal();
  const [isAsking, setAsking] = useState(false);
  const { host } = domain;
  const remove = async () => {
    const path = { workspace_id: workspace.id, host };
    await need(
      api.DELETE("/api/v1/workspaces/{workspace_id}/domains/{host}", { params: { path } }),
    );
    await renew();
    toast(words.removed(host));
  };
  return (
    <>
      <IconButton icon="bin" label={words.remove(host)} onClick={() => setAsking(true)} />
      {isAsking && (
        <Confirm
          title={words.removeTitle(host)}
          verb={words.removeVerb}
          isDangerous
          act={remove}
          onClose={() => setAsking(false)}
        >
          {domain.is_verified
            ? words.removeActive(`${bare(baseUrl)}/@${workspace.slug}/`)
            : words.removeWaiting}
        </Confirm>
      )}
    </>
  );
}
