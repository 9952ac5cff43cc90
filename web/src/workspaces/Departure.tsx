import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, need } from "../api/client";
import { useWorkspaces } from "../app/space";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import { Asking } from "../ui/Confirm";
import form from "../ui/form.module.css";
import { toast } from "../ui/toasts";
import { at, type Member, useRenewal } from "./queries";

/** Another member becomes owner in one's place. */
export function HandOver(props: { workspaceId: number; others: readonly Member[] }) {
  const words = useTexts(texts);
  const [chosenId, setChosenId] = useState<number>();
  const chosen = props.others.find((it) => it.account_id === chosenId) ?? props.others[0];
  if (chosen === undefined) return null;
  const { account_id, email } = chosen;
  const handOver = () => {
    const path = "/api/v1/workspaces/{workspace_id}/transfer";
    return need(api.POST(path, { ...at(props.workspaceId), body: { account_id } }));
  };
  return (
    <Card title={words.handOver} text={words.handOverText}>
      <div className={`${form.row} ${form.narrow}`}>
        <NativeSelect
          label={words.handOverTo}
          value={String(account_id)}
          onChange={(event) => setChosenId(Number(event.currentTarget.value))}
          data={props.others.map((it) => ({ value: String(it.account_id), label: it.email }))}
        />
        <Asking
          button={(ask) => (
            <Button variant="default" onClick={ask}>
              {words.handOverVerb}
            </Button>
          )}
          title={words.handOverTitle}
          verb={words.handOverVerb}
          isDangerous
          act={handOver}
          renews={["workspaces"]}
          said={words.handedOver(email)}
        >
          {words.handOverAsk(email)}
        </Asking>
      </div>
    </Card>
  );
}

export function Leave({ workspaceId, ownId }: { workspaceId: number; ownId: number }) {
  const words = useTexts(texts);
  const { data } = useWorkspaces();
  const renew = useRenewal();
  const [, go] = useLocation();
  const name = data?.find(({ id }) => id === workspaceId)?.name ?? "";
  const leave = async () => {
    const path = { workspace_id: workspaceId, account_id: ownId };
    const url = "/api/v1/workspaces/{workspace_id}/members/{account_id}";
    await need(api.DELETE(url, { params: { path } }));
    toast(words.left(name));
    go("/links");
    await renew();
  };
  return (
    <Asking
      button={(ask) => (
        <Card
          title={words.leave}
          text={words.leaveText}
          acts={
            <Button variant="default" onClick={ask}>
              {words.leaveVerb}
            </Button>
          }
        />
      )}
      title={words.leaveTitle}
      verb={words.leaveVerb}
      isDangerous
      act={leave}
    >
      {words.leaveAsk(name)}
    </Asking>
  );
}
