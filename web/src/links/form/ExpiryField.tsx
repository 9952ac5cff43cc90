import { TextInput } from "@mantine/core";
import { useId } from "react";
import { useWorkspaces } from "../../app/space";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { useFormats, useNow } from "../../ui/format";
import { type Expiry, toLocal } from "./editing";
import styles from "./LinkForm.module.css";
import { type FormProps, useWrongText } from "./LinkFormProps";

const SPANS = [3600, 86_400, 604_800, 2_592_000, 31_536_000] as const;
export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** When the link ends: a span from now, never, or a time. */
export function ExpiryField(props: FormProps) {
  const words = useTexts(texts);
  const wrongText = useWrongText();
  const { link, fields, change, wrong } = props;
  const { expiry } = fields;
  const choose = (next: Expiry) => change({ expiry: next });
  const name = useId();
  const tomorrow = () => toLocal(new Date(Date.now() + 86_400_000));
  return (
    <fieldset>
      <legend>{words.expiry}</legend>
      <div className={styles.chips}>
        <Chip
          name={name}
          label={link === null ? words.same : words.sameKept}
          isChosen={expiry.kind === "same"}
          choose={() => choose({ kind: "same" })}
        />
        {SPANS.map((seconds) => (
          <Chip
            name={name}
            key={seconds}
            label={words[`in${seconds}`]}
            isChosen={expiry.kind === "in" && expiry.seconds === seconds}
            choose={() => choose({ kind: "in", seconds })}
          />
        ))}
        <Chip
          name={name}
          label={words.never}
          isChosen={expiry.kind === "never"}
          choose={() => choose({ kind: "never" })}
        />
        <Chip
          name={name}
          label={words.at}
          isChosen={expiry.kind === "at"}
          choose={() => choose({ kind: "at", at: tomorrow() })}
        />
      </div>
      {expiry.kind === "at" && (
        <TextInput
          type="datetime-local"
          aria-label={words.atTime}
          className={styles.time ?? ""}
          description={words.zone(ZONE)}
          inputWrapperOrder={["input", "description", "error"]}
          value={expiry.at}
          onChange={(event) => choose({ kind: "at", at: event.currentTarget.value })}
        />
      )}
      <div className={styles.says}>
        {wrong.expiry ? (
          <p data-tone="bad" role="alert">
            {wrong.expiry === "empty" ? words.atEmpty : wrongText(wrong.expiry)}
          </p>
        ) : (
          <Meaning {...props} />
        )}
      </div>
    </fieldset>
  );
}

function Chip(props: { name: string; label: string; isChosen: boolean; choose: () => void }) {
  return (
    <label className={styles.chip}>
      <input type="radio" name={props.name} checked={props.isChosen} onChange={props.choose} />
      {props.label}
    </label>
  );
}

/** What the choice means, in words. */
function Meaning({ workspaceId, link, fields: { expiry } }: FormProps) {
  const words = useTexts(texts);
  const formats = useFormats();
  const now = useNow();
  const workspaces = useWorkspaces();
  if (expiry.kind === "at") return null;
  if (expiry.kind === "never") return <p>{words.neverSays}</p>;
  if (expiry.kind === "in") {
    return <p>{words.expiresAt(formats.exact(new Date(now + expiry.seconds * 1000)))}</p>;
  }
  if (link !== null) {
    if (link.expires_at === null) return <p>{words.neverSays}</p>;
    const end = new Date(link.expires_at);
    if (end.getTime() > now) return <p>{words.expiresAt(formats.exact(end))}</p>;
    return <p data-tone="warning">{words.expiredAt(formats.relative(end, now))}</p>;
  }
  const place = workspaces.data?.find((workspace) => workspace.id === workspaceId);
  const days = place?.default_expiry_days ?? null;
  if (days === null) return <p>{words.sameSays}</p>;
  return <p>{days === 0 ? words.sameEndless : words.sameDays(words.days(days))}</p>;
}
