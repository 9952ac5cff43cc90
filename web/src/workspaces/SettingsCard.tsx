import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Schemas } from "../api/client";
import { baseUrl } from "../api/server";
import type { Workspace } from "../app/space";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import form from "../ui/form.module.css";
import { FormProblem, useRefusal } from "../ui/states";
import { toast } from "../ui/toasts";
import { bare } from "../ui/urls";
import { editWorkspace, useRenewal } from "./queries";
import { type Strategy, StrategyChoice } from "./StrategyChoice";

type Lifetime = "server" | "never" | "days";

interface Draft {
  name: string;
  slug: string;
  strategy: Strategy;
  lifetime: Lifetime;
  days: string;
}

interface Order {
  body: Schemas["WorkspaceEdit"];
  /** What was typed to make it. */
  changes: Partial<Draft>;
}

const MOST_DAYS = 36_500;

/** All of a workspace that owners change. What one has not touched is shown, and stays, as others
 *  change it meanwhile. */
export function SettingsCard({ workspace }: { workspace: Workspace }) {
  const words = useTexts(texts);
  const [changes, setChanges] = useState<Partial<Draft>>({});
  const [isTried, setTried] = useState(false);
  const renew = useRenewal();
  const draft = { ...draftOf(workspace), ...changes };
  const change = (part: Partial<Draft>) => setChanges({ ...changes, ...part });
  const edit = editOf(draft, workspace);
  const save = useMutation({
    mutationFn: ({ body }: Order) => editWorkspace(workspace.id, body),
    onSuccess: async (_, sent) => {
      await renew();
      setChanges((now) => (now === sent.changes ? {} : now)); // more was typed meanwhile: it stays
      toast(words.saved);
    },
  });
  const refusal = useRefusal(save.error, "name", "slug", "default_expiry_days");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (edit) save.mutate({ body: edit, changes });
  };
  return (
    <Card title={workspace.name} text={words.settingsText}>
      <form className={`${form.form} ${form.wide}`} onSubmit={submit} noValidate>
        <Names draft={draft} change={change} isTried={isTried} beside={refusal.beside} />
        <StrategyChoice chosen={draft.strategy} onChange={(strategy) => change({ strategy })} />
        <p className={form.dim}>{words.strategyLater}</p>
        <Expiry draft={draft} change={change} isTried={isTried} beside={refusal.beside} />
        <FormProblem error={refusal.rest} />
        <div className={`${form.acts} ${form.left}`}>
          <Button
            type="submit"
            loading={save.isPending}
            disabled={edit !== null && Object.keys(edit).length === 0}
          >
            {words.save}
          </Button>
        </div>
      </form>
    </Card>
  );
}

interface PartProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  isTried: boolean;
  beside: ReturnType<typeof useRefusal>["beside"];
}

function Names({ draft, change, isTried, beside }: PartProps) {
  const words = useTexts(texts);
  return (
    <>
      <TextInput
        label={words.name}
        maxLength={100}
        value={draft.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
        error={(isTried && !draft.name.trim() && words.needName) || beside("name")}
      />
      <TextInput
        label={words.slug}
        description={`${words.linksStand} ${bare(baseUrl)}/@${draft.slug || "…"}/. ${words.slugOld}`}
        classNames={{ input: form.mono ?? "" }}
        maxLength={64}
        value={draft.slug}
        onChange={(event) => change({ slug: event.currentTarget.value.toLowerCase() })}
        error={(isTried && !draft.slug && words.slugHint) || beside("slug")}
      />
    </>
  );
}

function Expiry({ draft, change, isTried, beside }: PartProps) {
  const words = useTexts(texts);
  return (
    <div className={form.row}>
      <NativeSelect
        label={words.expiry}
        description={words.expiryText}
        value={draft.lifetime}
        onChange={(event) => change({ lifetime: event.currentTarget.value as Lifetime })}
        data={[
          { value: "server", label: words.expiryServer },
          { value: "never", label: words.never },
          { value: "days", label: words.expiryDays },
        ]}
      />
      {draft.lifetime === "days" && (
        <TextInput
          label={words.days}
          inputMode="numeric"
          value={draft.days}
          onChange={(event) => change({ days: event.currentTarget.value })}
          error={
            (isTried && daysOf(draft) === null && words.needDays) || beside("default_expiry_days")
          }
        />
      )}
    </div>
  );
}

function draftOf(workspace: Workspace): Draft {
  const days = workspace.default_expiry_days;
  return {
    name: workspace.name,
    slug: workspace.slug,
    strategy: workspace.strategy as Strategy,
    lifetime: days === null ? "server" : days === 0 ? "never" : "days",
    days: days ? String(days) : "365",
  };
}

function daysOf({ days }: Draft): number | null {
  const number = /^\d{1,5}$/.test(days.trim()) ? Number(days) : 0;
  return number >= 1 && number <= MOST_DAYS ? number : null;
}

/** What is another than it was; null: something cannot be saved. */
function editOf(draft: Draft, workspace: Workspace): Schemas["WorkspaceEdit"] | null {
  const name = draft.name.trim();
  const days = { server: null, never: 0, days: daysOf(draft) }[draft.lifetime];
  if (!name || !draft.slug || (draft.lifetime === "days" && days === null)) return null;
  return {
    ...(name === workspace.name ? {} : { name }),
    ...(draft.slug === workspace.slug ? {} : { slug: draft.slug }),
    ...(draft.strategy === workspace.strategy ? {} : { strategy: draft.strategy }),
    ...(days === workspace.default_expiry_days ? {} : { default_expiry_days: days }),
  };
}
