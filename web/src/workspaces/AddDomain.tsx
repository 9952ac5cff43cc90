import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, need, newIdempotencyKey } from "../api/client";
import { domains as texts } from "../strings/domains";
import { useTexts } from "../strings/language";
import { Dialog } from "../ui/Dialog";
import { DialogActs } from "../ui/DialogActs";
import form from "../ui/form.module.css";
import { FormProblem, useRefusal } from "../ui/states";
import { at, useRenewal } from "./queries";

/** The first step; the others stand on the domain's card. */
export function AddDomain(props: { workspaceId: number; onClose: () => void }) {
  const words = useTexts(texts);
  const renew = useRenewal();
  const [host, setHost] = useState("");
  const [key, setKey] = useState(newIdempotencyKey);
  const [isTried, setTried] = useState(false);
  const add = useMutation({
    mutationFn: async () => {
      const path = "/api/v1/workspaces/{workspace_id}/domains";
      const headers = { "Idempotency-Key": key };
      const body = { host: bareHost(host) };
      await need(api.POST(path, { ...at(props.workspaceId), body, headers }));
      await renew();
    },
    onSuccess: props.onClose,
  });
  const refusal = useRefusal(add.error, "host");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (host.trim()) add.mutate();
  };
  return (
    <Dialog onClose={props.onClose} title={words.add} isBusy={add.isPending}>
      <form className={form.form} onSubmit={submit} noValidate>
        <p className={form.dim}>{words.addText}</p>
        <TextInput
          label={words.host}
          description={words.hostHint}
          placeholder="go.example.com"
          classNames={{ input: form.mono ?? "" }}
          inputMode="url"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          value={host}
          onChange={(event) => {
            setHost(event.currentTarget.value);
            setKey(newIdempotencyKey());
          }}
          error={(isTried && !host.trim() && words.needHost) || refusal.beside("host")}
        />
        <FormProblem error={refusal.rest} />
        <DialogActs verb={words.addVerb} isBusy={add.isPending} onClose={props.onClose} />
      </form>
    </Dialog>
  );
}

/** What people paste is often a whole address. */
function bareHost(typed: string): string {
  return typed
    .trim()
    .replace(/^https?:\/\//i, "")
    .replace(/\/$/, "");
}
