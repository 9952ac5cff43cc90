import { Checkbox, NativeSelect, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useWorkspaces } from "../../app/space";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { useCutText } from "../../ui/CutNote";
import { useTags } from "../queries";
import { AliasField } from "./AliasField";
import { ExpiryField, ZONE } from "./ExpiryField";
import { MOST_TAGS } from "./editing";
import styles from "./LinkForm.module.css";
import { LinkFormFold } from "./LinkFormFold";
import { type FormProps, useWrongText } from "./LinkFormProps";
import { UtmBuilder } from "./UtmBuilder";

/** Where the link leads: the one field that every link needs. */
export function LinkFormUrl({ fields, change, wrong }: FormProps) {
  const words = useTexts(texts);
  const wrongText = useWrongText();
  return (
    <TextInput
      label={words.original_url}
      placeholder={words.urlHint}
      size="md"
      inputMode="url"
      autoComplete="off"
      autoCapitalize="off"
      spellCheck={false}
      data-autofocus
      value={fields.original_url}
      error={wrongText(wrong.original_url) ?? false}
      onChange={(event) => change({ original_url: event.currentTarget.value })}
    />
  );
}

/** Everything else. */
export function LinkFormMore(props: FormProps) {
  const words = useTexts(texts);
  const wrongText = useWrongText();
  const { workspaceId, fields, change, wrong } = props;
  const tags = useTags(workspaceId).data ?? [];
  const cutText = useCutText();
  return (
    <div className={styles.fields}>
      <AliasField {...props} />
      <TextInput
        label={words.title}
        placeholder={words.titleHint}
        maxLength={200}
        value={fields.title}
        error={wrongText(wrong.title) ?? false}
        onChange={(event) => change({ title: event.currentTarget.value })}
      />
      <TagsInput
        label={words.tags}
        placeholder={fields.tags.length === 0 ? words.tagsHint : ""}
        description={cutText(tags)}
        data={tags.map(({ tag }) => tag)}
        maxTags={MOST_TAGS}
        maxLength={50}
        isDuplicate={(tag, chosen) => chosen.includes(tag)}
        comboboxProps={{ zIndex: 400 }}
        value={[...fields.tags]}
        error={wrongText(wrong.tags) ?? false}
        onChange={(chosen) => change({ tags: chosen.map((tag) => tag.trim()).filter(Boolean) })}
      />
      <ExpiryField {...props} />
      <LinkFormFold name="utm" title={words.utm}>
        <UtmBuilder
          url={fields.original_url}
          onChange={(original_url) => change({ original_url })}
        />
      </LinkFormFold>
      <Behaviour {...props} />
      <Textarea
        label={words.notes}
        rows={3}
        maxLength={2000}
        value={fields.notes}
        error={wrongText(wrong.notes) ?? false}
        onChange={(event) => change({ notes: event.currentTarget.value })}
      />
    </div>
  );
}

/** How the link answers, and when. */
function Behaviour(props: FormProps) {
  const words = useTexts(texts);
  const wrongText = useWrongText();
  const { link, fields, change, wrong } = props;
  return (
    <>
      <div className={styles.pair}>
        {link === null && <Strategy {...props} />}
        <RedirectStatus {...props} />
        <TextInput
          label={words.max_clicks}
          placeholder={words.clicksHint}
          inputMode="numeric"
          autoComplete="off"
          value={fields.max_clicks}
          error={wrongText(wrong.max_clicks) ?? false}
          onChange={(event) => change({ max_clicks: event.currentTarget.value.trim() })}
        />
        <TextInput
          type="datetime-local"
          label={words.starts_at}
          description={`${words.startsHint} ${words.zone(ZONE)}.`}
          inputWrapperOrder={["label", "input", "description", "error"]}
          value={fields.starts_at}
          error={wrongText(wrong.starts_at) ?? false}
          onChange={(event) => change({ starts_at: event.currentTarget.value })}
        />
      </div>
      <Checkbox
        label={words.forward_query}
        description={words.forwardSays}
        checked={fields.forward_query}
        onChange={(event) => change({ forward_query: event.currentTarget.checked })}
      />
      {link !== null && (
        <Checkbox
          label={words.is_paused}
          description={words.pausedSays}
          checked={fields.is_paused}
          onChange={(event) => change({ is_paused: event.currentTarget.checked })}
        />
      )}
    </>
  );
}

const STRATEGIES = ["random", "counter", "deterministic"] as const;

/** How the code is made; the root has no codes that come from the address. */
function Strategy({ workspaceId, fields, change, wrong }: FormProps) {
  const words = useTexts(texts);
  const wrongText = useWrongText();
  const workspaces = useWorkspaces();
  const place = workspaces.data?.find((workspace) => workspace.id === workspaceId);
  const usual = STRATEGIES.find((name) => name === place?.strategy);
  const choices = STRATEGIES.filter((name) => workspaceId !== null || name !== "deterministic");
  const chosen = STRATEGIES.find((name) => name === fields.strategy) ?? usual;
  const meaning = chosen ? words[`${chosen}Says`] : words.usualSays;
  return (
    <NativeSelect
      label={words.strategy}
      description={fields.custom_code ? words.customSays : meaning}
      inputWrapperOrder={["label", "input", "description", "error"]}
      disabled={fields.custom_code !== ""}
      value={fields.strategy}
      error={wrongText(wrong.strategy) ?? false}
      onChange={(event) => {
        const wanted = event.currentTarget.value;
        change({ strategy: choices.find((name) => name === wanted) ?? "" });
      }}
      data={[
        { value: "", label: usual ? words.usualOf(words[usual]) : words.same },
        ...choices.map((name) => ({ value: name, label: words[name] })),
      ]}
    />
  );
}

const STATUSES = ["302", "301", "307", "308"] as const;

function RedirectStatus({ link, fields, change, wrong }: FormProps) {
  const words = useTexts(texts);
  const wrongText = useWrongText();
  const chosen = STATUSES.find((status) => status === fields.redirect_status);
  return (
    <NativeSelect
      label={words.redirect_status}
      description={chosen ? words[`status${chosen}Says`] : words.statusSays}
      inputWrapperOrder={["label", "input", "description", "error"]}
      value={fields.redirect_status}
      error={wrongText(wrong.redirect_status) ?? false}
      onChange={(event) => change({ redirect_status: event.currentTarget.value })}
      data={[
        ...(link === null ? [{ value: "", label: words.same }] : []),
        ...STATUSES.map((status) => ({ value: status, label: words[`status${status}`] })),
      ]}
    />
  );
}
