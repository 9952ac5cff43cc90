import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Workspace } from "../app/space";
import { domains as texts } from "../strings/domains";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import form from "../ui/form.module.css";
import { FormProblem, useRefusal } from "../ui/states";
import { toast } from "../ui/toasts";
import { editWorkspace, useRenewal } from "./queries";

/** Where `/` of a workspace's domains leads. */
export function FrontCard({ workspace, mayManage }: { workspace: Workspace; mayManage: boolean }) {
  const words = useTexts(texts);
  const renew = useRenewal();
  const [url, setUrl] = useState(workspace.root_url ?? "");
  const save = useMutation({
    mutationFn: () => editWorkspace(workspace.id, { root_url: url.trim() || null }),
    onSuccess: async () => {
      await renew();
      toast(words.saved);
    },
  });
  const refusal = useRefusal(save.error, "root_url");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  if (!mayManage) {
    return (
      <Card title={words.front} text={words.frontText}>
        <p className={form.text}>{workspace.root_url ?? words.nowhere}</p>
      </Card>
    );
  }
  return (
    <Card title={words.front} text={words.frontText}>
      <form className={`${form.form} ${form.wide}`} onSubmit={submit} noValidate>
        <TextInput
          label={words.rootUrl}
          description={words.rootHint}
          placeholder="https://www.example.com/"
          inputMode="url"
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value)}
          error={refusal.beside("root_url")}
        />
        <FormProblem error={refusal.rest} />
        <div className={`${form.acts} ${form.left}`}>
          <Button
            type="submit"
            loading={save.isPending}
            disabled={url.trim() === (workspace.root_url ?? "")}
          >
            {words.save}
          </Button>
        </div>
      </form>
    </Card>
  );
}
