import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, need } from "../api/client";
import type { Workspace } from "../app/space";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import { Confirm } from "../ui/Confirm";
import { toast } from "../ui/toasts";
import { at, useRenewal } from "./queries";
import { useRestore } from "./restoring";

/** The end of a workspace, with a way back for a while. */
export function DeleteCard({ workspace }: { workspace: Workspace }) {
  const words = useTexts(texts);
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Card
        title={words.delete}
        text={words.deleteText}
        acts={
          <Button variant="outline" color="bad" onClick={() => setAsking(true)}>
            {words.delete}
          </Button>
        }
      />
      {isAsking && <Ask workspace={workspace} onClose={() => setAsking(false)} />}
    </>
  );
}

function Ask({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const words = useTexts(texts);
  const { id, name } = workspace;
  const [typed, setTyped] = useState("");
  const [, go] = useLocation();
  const renew = useRenewal();
  const restore = useRestore();
  const remove = async () => {
    await need(api.DELETE("/api/v1/workspaces/{workspace_id}", at(id)));
    toast(words.deleted(name), { action: { label: words.restore, run: () => restore(id) } });
    go("/links");
    await renew();
  };
  return (
    <Confirm
      title={words.deleteTitle(name)}
      verb={words.delete}
      isDangerous
      isDisabled={typed.trim() !== name.trim()}
      act={remove}
      onClose={onClose}
    >
      <p>{words.deleteAsk}</p>
      <TextInput
        label={words.deleteType(name)}
        autoComplete="off"
        data-autofocus
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
    </Confirm>
  );
}
