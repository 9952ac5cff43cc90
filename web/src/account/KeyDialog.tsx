import { NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useRef, useState } from "react";
import { api, need, newIdempotencyKey, type Schemas } from "../api/client";
import { useMe } from "../api/session";
import { useWorkspaces } from "../app/space";
import { keys as texts } from "../strings/keys";
import { useTexts } from "../strings/language";
import { Choices } from "../ui/Choices";
import { useCutChoice } from "../ui/CutNote";
import { Dialog } from "../ui/Dialog";
import { DialogActs } from "../ui/DialogActs";
import form from "../ui/form.module.css";
import { FormProblem, useRefusal } from "../ui/states";
import styles from "./keys.module.css";
import { NewKey } from "./NewKey";

type Scope = Schemas["Permission"];
/** `days` is how long it is valid; null: permanently. */
type Wish = Omit<Schemas["KeyCreate"], "expires_at"> & { days: number | null };

const SCOPES: readonly Scope[] = [
  "links:read",
  "links:create",
  "links:write",
  "stats:read",
  "admin",
];
const DAY_MS = 86_400_000;

/** Makes a key, and shows it once. */
export function KeyDialog({ onClose }: { onClose: () => void }) {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const sent = useRef<{ wish: string; order: ReturnType<typeof orderOf> }>(undefined);
  const make = useMutation({
    mutationFn: (wish: Wish) => {
      const told = JSON.stringify(wish);
      if (sent.current?.wish !== told) sent.current = { wish: told, order: orderOf(wish) };
      return need(api.POST("/api/v1/keys", sent.current.order));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ["keys"] }),
  });
  return (
    <Dialog
      onClose={onClose}
      size="lg"
      isLong
      title={make.data ? words.ready : words.create}
      isBusy={make.isPending}
    >
      {make.data ? (
        <NewKey made={make.data} onClose={onClose} />
      ) : (
        <KeyForm isBusy={make.isPending} error={make.error} send={make.mutate} onClose={onClose} />
      )}
    </Dialog>
  );
}

/** Sent again, it is the same to the letter: a key is made once. */
function orderOf({ days, ...wish }: Wish) {
  const expires_at = days === null ? null : new Date(Date.now() + days * DAY_MS).toISOString();
  return { body: { ...wish, expires_at }, headers: { "Idempotency-Key": newIdempotencyKey() } };
}

function KeyForm(props: {
  isBusy: boolean;
  error: unknown;
  send: (wish: Wish) => void;
  onClose: () => void;
}) {
  const words = useTexts(texts);
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<Scope[]>(["links:read", "links:create"]);
  const [where, setWhere] = useState("");
  const [days, setDays] = useState("365");
  const [isTried, setTried] = useState(false);
  const refusal = useRefusal(props.error, "name");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (!name.trim() || scopes.length === 0) return;
    props.send({
      name: name.trim(),
      scopes,
      workspace_id: where ? Number(where) : null,
      days: days ? Number(days) : null,
    });
  };
  return (
    <form className={form.form} onSubmit={submit} noValidate>
      <TextInput
        label={words.name}
        description={words.nameHint}
        data-autofocus
        maxLength={100}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        error={(isTried && !name.trim() && words.needName) || refusal.beside("name")}
      />
      <ScopeChoice chosen={scopes} onChange={setScopes} />
      {isTried && scopes.length === 0 && <p className={styles.wrong}>{words.needScope}</p>}
      <div className={form.row}>
        <PlaceSelect value={where} onChange={setWhere} />
        <LifeSelect value={days} onChange={setDays} />
      </div>
      <FormProblem error={refusal.rest} />
      <DialogActs verb={words.make} isBusy={props.isBusy} onClose={props.onClose} />
    </form>
  );
}

function ScopeChoice(props: { chosen: readonly Scope[]; onChange: (scopes: Scope[]) => void }) {
  const words = useTexts(texts);
  const { data: me } = useMe();
  return (
    <Choices
      label={words.scopes}
      isMultiple
      chosen={props.chosen}
      onChange={props.onChange}
      choices={SCOPES.filter((scope) => me?.scopes.includes(scope)).map((scope) => ({
        value: scope,
        title: words[scope],
        text: words[`${scope}Text`],
        example: scope,
      }))}
    />
  );
}

function PlaceSelect({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const words = useTexts(texts);
  const { data = [] } = useWorkspaces();
  const cutOf = useCutChoice();
  return (
    <NativeSelect
      label={words.workspace}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        { value: "", label: words.allWorkspaces },
        ...data
          .filter(({ deleted_at }) => !deleted_at)
          .map(({ id, name }) => ({ value: String(id), label: name })),
        ...cutOf(data),
      ]}
    />
  );
}

function LifeSelect({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const words = useTexts(texts);
  return (
    <NativeSelect
      label={words.expires}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      data={[
        ...[7, 30, 90].map((days) => ({ value: String(days), label: words.days(days) })),
        { value: "365", label: words.year },
        { value: "", label: words.never },
      ]}
    />
  );
}
