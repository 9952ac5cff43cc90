import { TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { useLocation } from "wouter";
import { api, need, newIdempotencyKey } from "../api/client";
import { baseUrl } from "../api/server";
import { pathIn, type Workspace } from "../app/space";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Dialog } from "../ui/Dialog";
import { DialogActs } from "../ui/DialogActs";
import form from "../ui/form.module.css";
import { FormProblem, useRefusal } from "../ui/states";
import { toast } from "../ui/toasts";
import { bare } from "../ui/urls";
import { editWorkspace, useRenewal } from "./queries";
import { type Strategy, StrategyChoice } from "./StrategyChoice";
import { slugOf } from "./slug";

interface Wish {
  name: string;
  slug: string;
  strategy: Strategy;
}

/** Makes a workspace, and goes there. */
export default function NewWorkspace({ onClose }: { onClose: () => void }) {
  const words = useTexts(texts);
  const [name, setName] = useState("");
  const [typedSlug, setSlug] = useState<string>();
  const [strategy, setStrategy] = useState<Strategy>("deterministic");
  const [isTried, setTried] = useState(false);
  const slug = typedSlug ?? slugOf(name);
  const create = useCreate(onClose);
  const refusal = useRefusal(create.error, "name", "slug");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (name.trim() && slug) create.mutate({ name: name.trim(), slug, strategy });
  };
  return (
    <Dialog onClose={onClose} title={words.newTitle} size="lg" isLong isBusy={create.isPending}>
      <form className={form.form} onSubmit={submit} noValidate>
        <p className={form.dim}>{words.newText}</p>
        <TextInput
          label={words.name}
          placeholder={words.nameExample}
          data-autofocus
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={(isTried && !name.trim() && words.needName) || refusal.beside("name")}
        />
        <TextInput
          label={words.slug}
          classNames={{ input: form.mono ?? "" }}
          description={`${words.linksStand} ${bare(baseUrl)}/@${slug || "…"}/`}
          maxLength={64}
          value={slug}
          onChange={(event) => setSlug(event.currentTarget.value.toLowerCase())}
          error={(isTried && !slug && words.slugHint) || refusal.beside("slug")}
        />
        <StrategyChoice chosen={strategy} onChange={setStrategy} />
        <p className={form.dim}>{words.strategyLater}</p>
        <FormProblem error={refusal.rest} />
        <DialogActs verb={words.create} isBusy={create.isPending} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function useCreate(onClose: () => void) {
  const words = useTexts(texts);
  const renew = useRenewal();
  const [, go] = useLocation();
  const key = useRef({ of: "", value: "" });
  return useMutation({
    mutationFn: async ({ name, slug, strategy }: Wish): Promise<Workspace> => {
      if (key.current.of !== `${name}/${slug}`) {
        key.current = { of: `${name}/${slug}`, value: newIdempotencyKey() };
      }
      const headers = { "Idempotency-Key": key.current.value };
      const made = await need(api.POST("/api/v1/workspaces", { body: { name, slug }, headers }));
      return strategy === made.strategy ? made : editWorkspace(made.id, { strategy });
    },
    onSuccess: async ({ id, name }) => {
      await renew();
      onClose();
      toast(words.created(name));
      go(pathIn(id, "/links"));
    },
  });
}
