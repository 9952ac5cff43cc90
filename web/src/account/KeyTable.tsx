import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "../api/client";
import { useWorkspaces } from "../app/place";
import { keys as texts } from "../strings/keys";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { useNow } from "../ui/format";
import table from "../ui/table.module.css";
import { toast } from "../ui/toasts";
import { When } from "../ui/When";
import type { Key } from "./keyQueries";
import styles from "./keys.module.css";

export function KeyTable({ keys }: { keys: readonly Key[] }) {
  const words = useTexts(texts);
  return (
    <table className={table.table}>
      <thead>
        <tr>
          <th scope="col">{words.key}</th>
          <th scope="col">{words.scopes}</th>
          <th scope="col">{words.workspace}</th>
          <th scope="col">{words.lastUsed}</th>
          <th scope="col">{words.expires}</th>
          <th scope="col">
            <span className="unseen">{words.acts}</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {keys.map((key) => (
          <Row key={key.id} of={key} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ of: key }: { of: Key }) {
  const words = useTexts(texts);
  return (
    <tr>
      <td>
        <div className={styles.name}>{key.name}</div>
        <code className={styles.prefix}>{key.prefix}_…</code>
      </td>
      <td>
        <ul className={styles.scopes}>
          {key.scopes.map((scope) => (
            <li key={scope}>{words[scope]}</li>
          ))}
        </ul>
      </td>
      <td className={`${table.dim} ${styles.place}`}>
        <Place workspaceId={key.workspace_id} />
      </td>
      <td className={table.dim} data-label={words.lastUsed}>
        {key.last_used_at ? <When at={key.last_used_at} /> : words.neverUsed}
      </td>
      <td className={table.dim} data-label={words.expires}>
        <End at={key.expires_at} />
      </td>
      <td className={`${table.acts} ${table.corner}`}>
        <Revoke of={key} />
      </td>
    </tr>
  );
}

function Place({ workspaceId }: { workspaceId: number | null }) {
  const words = useTexts(texts);
  const { data } = useWorkspaces();
  if (workspaceId === null) return words.everywhere;
  return data?.find(({ id }) => id === workspaceId)?.name ?? words.gone;
}

function End({ at }: { at: string | null }) {
  const words = useTexts(texts);
  const now = useNow();
  if (at === null) return words.never;
  if (Date.parse(at) <= now) return <span className={styles.expired}>{words.expired}</span>;
  return <When at={at} />;
}

function Revoke({ of: key }: { of: Key }) {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const revoke = async () => {
    await need(api.DELETE("/api/v1/keys/{key_id}", { params: { path: { key_id: key.id } } }));
    await queries.invalidateQueries({ queryKey: ["keys"] });
    toast(words.revoked(key.name));
  };
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        aria-label={words.revoke(key.name)}
        onClick={() => setAsking(true)}
      >
        {words.revokeVerb}
      </Button>
      {isAsking && (
        <Confirm
          title={words.revokeTitle(key.name)}
          verb={words.revokeVerb}
          isDangerous
          act={revoke}
          onClose={() => setAsking(false)}
        >
          {words.revokeText}
        </Confirm>
      )}
    </>
  );
}
