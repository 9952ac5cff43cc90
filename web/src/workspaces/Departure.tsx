import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, need } from "../api/client";
import { useWorkspaces } from "../app/place";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import { Confirm } from "../ui/Confirm";
import form from "../ui/form.module.css";
import { toast } from "../ui/toasts";
import { at, type Member, useRenewal } from "./queries";

/** Another member becomes owner in one's place. */
export function HandOver(props: { workspaceId: number; others: readonly Member[] }) {
  const words = useTexts(texts);
  const renew = useRenewal();
  const [chosenId, setChosenId] = useState<number>();
  const [isAsking, setAsking] = useState(false);
  const chosen = props.others.find((it) => it.account_id === chosenId) ?? props.others[0];
  if (chosen === undefined) return null;
  const { account_id, email } = chosen;
  const handOver = async () => {
    const path = "/api/v1/workspaces/{workspace_id}/transfer";
    await need(api.POST(path, { ...at(props.workspaceId), body: { account_id } }));
    await renew();
    toast(words.handedOver(email));
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
        <Button variant="default" onClick={() => setAsking(true)}>
          {words.handOverVerb}
        </Button>
      </div>
      {isAsking && (
        <Confirm
          title={words.handOverTitle}
          verb={words.handOverVerb}
          isDangerous
          act={handOver}
          onClose={() => setAsking(false)}
        >
          {words.handOverAsk(email)}
        </Confirm>
      )}
    </Card>
  );
}

export function Leave({ workspaceId, ownId }: { workspaceId: number; ownId: number }) {
  const words = useTexts(texts);
  const { data } = useWorkspaces();
  const renew = useRenewal();
  const [, go] = useLocation();
  const [isAsking, setAsking] = useState(false);
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
    <>
      <Card
        title={words.leave}
        text={words.leaveText}
        acts={
          <Button variant="default" onClick={() => setAsking(true)}>
            {words.leaveVerb}
          </Button>
        }
      />
      {isAsking && (
        <Confirm
          title={words.leaveTitle}
          verb={words.leaveVerb}
          isDangerous
          act={leave}
          onClose={() => setAsking(false)}
        >
          {words.leaveAsk(name)}
        </Confirm>
      )}
    </>
  );
}
