import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { apiOf, need } from "../../api/client";
import { pathIn } from "../../app/space";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { Icon } from "../../ui/Icon";
import { bare } from "../../ui/urls";
import { isAlias } from "./editing";
import styles from "./LinkForm.module.css";
import { type FormProps, useWrongText } from "./LinkFormProps";

const PAUSE_MS = 350; // between two letters of a person who types

/** The code of one's own choice; says while one types whether it can be had. */
export function AliasField({ workspaceId, link, fields, change, wrong }: FormProps) {
  const words = useTexts(texts);
  const wrongText = useWrongText();
  const code = fields.custom_code;
  const isMoved = link !== null && code !== link.short_code;
  const said = useAvailability(workspaceId, code, link?.short_code ?? "");
  return (
    <div>
      <TextInput
        label={words.custom_code}
        description={link === null ? words.aliasHint : undefined}
        className={styles.code ?? ""}
        leftSection="/"
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        maxLength={128}
        value={code}
        error={wrongText(wrong.custom_code) ?? false}
        onChange={(event) => change({ custom_code: event.currentTarget.value.trim() })}
      />
      <div className={styles.says} aria-live="polite">
        {wrong.custom_code === undefined && <Said said={said} workspaceId={workspaceId} />}
        {isMoved && <p data-tone="warning">{words.aliasMoves(link.short_code)}</p>}
      </div>
    </div>
  );
}

type Said =
  | { tone: "none" | "checking" | "shape" | "taken" | "reserved" | "unknown" }
  | { tone: "free"; url: string }
  | { tone: "yours"; linkId: number };

function useAvailability(workspaceId: number | null, code: string, own: string): Said {
  const [settled] = useDebouncedValue(code, PAUSE_MS);
  const isAsked = code !== own && isAlias(code);
  const answer = useQuery({
    queryKey: ["links", workspaceId, "availability", settled],
    queryFn: ({ signal }) => {
      const params = { query: { code: settled } };
      return need(apiOf(workspaceId).GET("/api/v1/links/availability", { params, signal }));
    },
    enabled: isAsked && settled === code,
    staleTime: 5000,
    retry: false,
  });
  if (code === "" || code === own) return { tone: "none" };
  if (!isAsked) return { tone: "shape" };
  if (settled !== code || answer.isPending) return { tone: "checking" };
  if (answer.isError) return { tone: "unknown" };
  const { is_free, link_id, problem, short_url } = answer.data;
  if (is_free) return { tone: "free", url: bare(short_url ?? code) };
  if (link_id !== null) return { tone: "yours", linkId: link_id };
  return { tone: problem?.type.endsWith("taken") ? "taken" : "reserved" };
}

function Said({ said, workspaceId }: { said: Said; workspaceId: number | null }) {
  const words = useTexts(texts);
  switch (said.tone) {
    case "none":
      return null;
    case "free":
      return (
        <p data-tone="good">
          <Icon name="check" size={16} />
          <span>{words.aliasFree(said.url)}</span>
        </p>
      );
    case "yours":
      return (
        <p data-tone="bad">
          <Icon name="warn" size={16} />
          <span>
            {/* A page of its own: what is typed here stays. */}
            <a
              href={`/app${pathIn(workspaceId, `/links/${said.linkId}`)}`}
              target="_blank"
              rel="noreferrer"
            >
              {words.aliasYours}
            </a>
          </span>
        </p>
      );
    case "checking":
      return <p>{words.aliasChecking}</p>;
    case "unknown":
      return <p>{words.aliasUnknown}</p>;
    default: {
      const reasons = {
        shape: words.aliasShape,
        taken: words.aliasTaken,
        reserved: words.aliasReserved,
      };
      return (
        <p data-tone="bad">
          <Icon name="warn" size={16} />
          <span>{reasons[said.tone]}</span>
        </p>
      );
    }
  }
}
