import { Button, Checkbox, PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, isRefused, need, Problem } from "../api/client";
import { changePassword, useMe } from "../api/session";
import { account as texts } from "../strings/account";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import form from "../ui/form.module.css";
import { FormProblem, useRefusal } from "../ui/states";
import { toast } from "../ui/toasts";
import { useKeys } from "./keyQueries";

const SHORTEST = 8;

export function PasswordCard() {
  const words = useTexts(texts);
  const { data: me } = useMe();
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const [isTried, setTried] = useState(false);
  const isShort = next.length < SHORTEST;
  const queries = useQueryClient();
  const [revokeKeys, setRevokeKeys] = useState(false);
  const [revoked, setRevoked] = useState<readonly string[]>([]);
  const change = useMutation({
    mutationFn: async () => {
      await changePassword(old, next, revokeKeys);
      const tries = await Promise.all(revoked.map((id) => revoke(Number(id))));
      return revoked.filter((_, index) => !tries[index]);
    },
    onSuccess: (unrevoked) => {
      queries.invalidateQueries({ queryKey: ["keys"] });
      setRevokeKeys(false);
      setRevoked(unrevoked);
      setOld("");
      setNext("");
      setTried(false);
      if (unrevoked.length === 0) toast(words.changed);
    },
  });
  const isWrong = isRefused(change.error, "old_password");
  const refusal = useRefusal(change.error, "old_password", "new_password");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (old && !isShort) change.mutate();
  };
  return (
    <Card title={words.password} text={words.changeText}>
      <form className={`${form.form} ${form.narrow}`} onSubmit={submit} noValidate>
        {/* For who keeps passwords in the browser. */}
        <input type="email" hidden autoComplete="username" value={me?.email ?? ""} readOnly />
        <PasswordInput
          label={words.oldPassword}
          autoComplete="current-password"
          value={old}
          onChange={(event) => {
            setOld(event.currentTarget.value);
            change.reset();
          }}
          error={(isTried && !old && words.needPassword) || (isWrong && words.wrongPassword)}
        />
        <PasswordInput
          label={words.newPassword}
          description={words.passwordHint}
          autoComplete="new-password"
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          error={(isTried && isShort && words.shortPassword) || refusal.beside("new_password")}
        />
        <Checkbox
          label={words.revokeKeys}
          checked={revokeKeys}
          onChange={(event) => setRevokeKeys(event.currentTarget.checked)}
        />
        <WorkspaceKeys chosen={revoked} onChange={setRevoked} />
        <FormProblem error={refusal.rest} />
        {!!change.data?.length && <FormProblem text={words.unrevoked} />}
        <div className={`${form.acts} ${form.left}`}>
          <Button type="submit" loading={change.isPending}>
            {words.change}
          </Button>
        </div>
      </form>
    </Card>
  );
}

/** A team may rely on these keys, so each one is ticked separately. */
function WorkspaceKeys(props: {
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}) {
  const words = useTexts(texts);
  const keys = useKeys().data?.filter((key) => key.workspace_id !== null) ?? [];
  if (keys.length === 0) return null;
  return (
    <Checkbox.Group
      label={words.revokeWorkspaceKeys}
      value={[...props.chosen]}
      onChange={props.onChange}
    >
      {keys.map((key) => (
        <Checkbox
          key={key.id}
          mt="xs"
          value={String(key.id)}
          label={`${key.name} (${key.prefix}…)`}
        />
      ))}
    </Checkbox.Group>
  );
}

/** Whether the key is gone. */
async function revoke(key_id: number): Promise<boolean> {
  try {
    await need(api.DELETE("/api/v1/keys/{key_id}", { params: { path: { key_id } } }));
    return true;
  } catch (error) {
    return error instanceof Problem && error.status === 404;
  }
}
