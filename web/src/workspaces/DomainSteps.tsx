import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { api, need, Problem } from "../api/client";
import { baseUrl } from "../api/server";
import { domains as texts } from "../strings/domains";
import { localeOf, useLanguage, useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { Icon } from "../ui/Icon";
import { Secret } from "../ui/Secret";
import { FormProblem } from "../ui/states";
import { toast } from "../ui/toasts";
import styles from "./DomainCard.module.css";
import { type Domain, useRenewal } from "./queries";

interface Props {
  domain: Domain;
  workspaceId: number;
}

/** What proves a domain and brings visitors to it, in the order in which it is done. */
export function DomainSteps({ domain, workspaceId }: Props) {
  const words = useTexts(texts);
  const target = new URL(baseUrl).hostname;
  const isName = /[a-z]/i.test(target) && !target.startsWith("[") && target !== "localhost";
  return (
    <ol className={styles.steps}>
      <Step title={words.stepRecord} isDone={domain.is_verified}>
        <dl className={styles.record}>
          <dt>{words.name}</dt>
          <dd>
            <Secret value={domain.record_name} label={words.copyName} />
          </dd>
          <dt>{words.recordValue}</dt>
          <dd>
            <Secret value={domain.record_value} label={words.copyValue} />
          </dd>
        </dl>
        <p>{words.recordHint}</p>
      </Step>
      {(!domain.is_verified || domain.missing_since) && (
        <Step title={words.stepVerify}>
          <Verify domain={domain} workspaceId={workspaceId} />
        </Step>
      )}
      <Step title={words.stepPoint}>
        <p>{words.pointText}</p>
        {isName && (
          <dl className={styles.record}>
            <dt>{words.pointedAt}</dt>
            <dd>
              <Secret value={target} label={words.copyTarget} />
            </dd>
          </dl>
        )}
      </Step>
    </ol>
  );
}

function Step(props: { title: string; isDone?: boolean; children: ReactNode }) {
  return (
    <li className={styles.step}>
      <h3>
        {props.title}
        {props.isDone && <Icon name="check" size={16} />}
      </h3>
      {props.children}
    </li>
  );
}

function Verify({ domain, workspaceId }: Props) {
  const words = useTexts(texts);
  const renew = useRenewal();
  const [isAsking, setAsking] = useState(false);
  const verify = useMutation({
    mutationFn: async () => {
      const path = { workspace_id: workspaceId, host: domain.host };
      const url = "/api/v1/workspaces/{workspace_id}/domains/{host}/verify";
      await need(api.POST(url, { params: { path } }));
    },
    onSuccess: () => toast(words.verified(domain.host)),
    onSettled: renew, // without the record it may have stopped
  });
  const run = () => verify.mutateAsync().catch(() => undefined); // it is told below
  return (
    <>
      <p>{words.verifyHint}</p>
      <Button
        loading={verify.isPending}
        onClick={() => (domain.is_verified ? setAsking(true) : void run())}
      >
        {words.verify}
      </Button>
      <Outcome error={verify.error} at={verify.submittedAt} />
      {isAsking && (
        <Confirm
          title={words.verifyTitle}
          verb={words.verify}
          isDangerous
          act={run}
          onClose={() => setAsking(false)}
        >
          {words.verifyAsk(domain.host)}
        </Confirm>
      )}
    </>
  );
}

/** What was found. */
function Outcome({ error, at }: { error: unknown; at: number }) {
  const words = useTexts(texts);
  const language = useLanguage();
  if (!error) return null;
  const time = new Date(at).toLocaleTimeString(localeOf(language));
  const told: Record<string, string> = {
    "domain-not-verified": words.notVerified(time),
    "domain-lookup-failed": words.lookupFailed,
    "domain-taken": words.taken,
  };
  const sentence = error instanceof Problem ? told[error.code] : undefined;
  return <FormProblem error={error} {...(sentence && { text: sentence })} />;
}
