import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { api, need, newIdempotencyKey, type Schemas } from "../api/client";
import type { Role } from "../app/space";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Dialog } from "../ui/Dialog";
import { DialogActs, DialogEnd } from "../ui/DialogActs";
import form from "../ui/form.module.css";
import { useFormats, useNow } from "../ui/format";
import { Secret } from "../ui/Secret";
import { FormProblem } from "../ui/states";
import { at, useRenewal } from "./queries";
import { RoleChoice } from "./RoleChoice";

/** Makes a link that lets one person in, and shows it once. */
export function InviteDialog(props: { workspaceId: number; onClose: () => void }) {
  const words = useTexts(texts);
  const [role, setRole] = useState<Role>("viewer");
  const renew = useRenewal();
  const keys = useRef<Partial<Record<Role, string>>>({});
  const make = useMutation({
    mutationFn: () => {
      keys.current[role] ??= newIdempotencyKey();
      const headers = { "Idempotency-Key": keys.current[role] };
      const path = "/api/v1/workspaces/{workspace_id}/invitations";
      return need(api.POST(path, { ...at(props.workspaceId), body: { role }, headers }));
    },
    onSuccess: renew,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <Dialog
      onClose={props.onClose}
      title={make.data ? words.inviteReady : words.inviteTitle}
      isBusy={make.isPending}
    >
      {make.data ? (
        <Ready link={make.data} role={role} onClose={props.onClose} />
      ) : (
        <form className={form.form} onSubmit={submit}>
          <p className={form.dim}>{words.inviteText}</p>
          <RoleChoice chosen={role} onChange={setRole} />
          <FormProblem error={make.error} />
          <DialogActs
            verb={words.makeLink}
            isBusy={make.isPending}
            isCancelFirst
            onClose={props.onClose}
          />
        </form>
      )}
    </Dialog>
  );
}

function Ready(props: { link: Schemas["OneTimeLink"]; role: Role; onClose: () => void }) {
  const words = useTexts(texts);
  const { relative } = useFormats();
  const ends = relative(new Date(props.link.expires_at), useNow());
  return (
    <div className={form.form}>
      <p className={form.text}>{words.inviteOnce(words[`as${props.role}`], ends)}</p>
      <Secret value={props.link.url} label={words.copyInvite} />
      <DialogEnd verb="done" onClose={props.onClose} />
    </div>
  );
}
