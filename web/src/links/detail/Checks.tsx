import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { apiOf, need } from "../../api/client";
import { useMayEditLinks, useWorkspaceId } from "../../app/space";
import { useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { Card } from "../../ui/Card";
import { Icon, type IconName } from "../../ui/Icon";
import { FormProblem } from "../../ui/states";
import { When } from "../../ui/When";
import type { Link } from "../queries";
import { CheckStrip } from "./CheckStrip";
import styles from "./Checks.module.css";
import { type Checks as Found, useChecks, useWhich } from "./queries";

const PATIENCE_MS = 90_000; // a site is called once a minute at most

type Result = NonNullable<Found["destination_status"]>;
const SIGNS: Record<Result, IconName> = {
  ok: "done",
  broken: "warn",
  unknown: "clock",
  not_checked: "stop",
};

/** Whether the destination is still there, on each day, and now. */
export function Checks({ link }: { link: Link }) {
  const words = useTexts(texts);
  const mayEdit = useMayEditLinks(useWorkspaceId());
  const [requestedAt, setRequestedAt] = useState<string | null>(null);
  const checks = useChecks(requestedAt !== null);
  const ask = useAsk(setRequestedAt);
  const isLate = useAnswer(requestedAt, checks.data?.last_checked_at ?? null, setRequestedAt);
  const button = mayEdit && link.status === "ACTIVE" && (
    <Button
      variant="default"
      loading={ask.isPending || requestedAt !== null}
      onClick={() => ask.mutate()}
    >
      {words.checkNow}
    </Button>
  );
  return (
    <Card title={words.checks} text={words.checksText} acts={button}>
      <FormProblem error={ask.error ?? checks.error} />
      {isLate && <p className={styles.late}>{words.checkLate}</p>}
      {checks.data && <Verdict checks={checks.data} />}
      {checks.data && <CheckStrip checks={checks.data.checks} />}
    </Card>
  );
}

function useAsk(setRequestedAt: (at: string) => void) {
  const { workspaceId, id } = useWhich();
  return useMutation({
    mutationFn: () => {
      const params = { path: { link_id: id } };
      return need(apiOf(workspaceId).POST("/api/v1/links/{link_id}/checks", { params }));
    },
    onSuccess: (asked) => setRequestedAt(asked.requested_at),
  });
}

/** Ends the wait when the answer is there. Whether it takes longer than one likes to wait. */
function useAnswer(
  requestedAt: string | null,
  checkedAt: string | null,
  setRequestedAt: (at: null) => void,
): boolean {
  const [isLate, setLate] = useState(false);
  const hasCome =
    requestedAt !== null && checkedAt !== null && Date.parse(checkedAt) > Date.parse(requestedAt);
  useEffect(() => {
    if (hasCome) setRequestedAt(null);
  }, [hasCome, setRequestedAt]);
  useEffect(() => {
    if (requestedAt === null) return;
    setLate(false);
    const timer = window.setTimeout(() => {
      setLate(true);
      setRequestedAt(null);
    }, PATIENCE_MS);
    return () => window.clearTimeout(timer);
  }, [requestedAt, setRequestedAt]);
  return isLate && !hasCome;
}

/** What all checks say together. */
function Verdict({ checks }: { checks: Found }) {
  const words = useTexts(texts);
  const status = checks.destination_status;
  const code = checks.destination_http_status;
  return (
    <p className={styles.verdict} data-result={status ?? undefined} aria-live="polite">
      <Icon name={status === null ? "clock" : SIGNS[status]} />
      <span>
        {status === null ? words.resultNone : words[`result_${status}`]}
        {code !== null && ` ${words.answered(code)}`}{" "}
        {checks.last_checked_at && <When at={checks.last_checked_at} />}
      </span>
    </p>
  );
}
