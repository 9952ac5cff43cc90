import { api, need } from "../api/client";
import { useWorkspaces } from "../app/space";
import { keys as texts } from "../strings/keys";
import { useTexts } from "../strings/language";
import { type Column, DataTable } from "../ui/DataTable";
import { useNow } from "../ui/format";
import { RevokeButton } from "../ui/RevokeButton";
import { Tag } from "../ui/Tag";
import { timeColumn } from "../ui/timeColumn";
import { When } from "../ui/When";
import type { Key } from "./keyQueries";
import styles from "./keys.module.css";

export function KeyTable({ keys }: { keys: readonly Key[] }) {
  const words = useTexts(texts);
  const columns: Column<Key>[] = [
    {
      head: words.key,
      cell: (key) => (
        <>
          <div className={styles.name}>{key.name}</div>
          <code className={styles.prefix}>{key.prefix}_…</code>
        </>
      ),
    },
    {
      head: words.scopes,
      cell: (key) => (
        <ul className={styles.scopes}>
          {key.scopes.map((scope) => (
            <li key={scope}>
              <Tag>{words[scope]}</Tag>
            </li>
          ))}
        </ul>
      ),
    },
    {
      head: words.workspace,
      kind: "dim",
      className: styles.space,
      cell: (key) => <KeySpace workspaceId={key.workspace_id} />,
    },
    timeColumn(words.lastUsed, (key) => key.last_used_at, words.neverUsed),
    {
      head: words.expires,
      kind: "dim",
      label: true,
      cell: (key) => <End at={key.expires_at} />,
    },
    { head: words.acts, kind: "corner", cell: (key) => <Revoke of={key} /> },
  ];
  return <DataTable columns={columns} rows={keys} keyOf={(key) => key.id} />;
}

function KeySpace({ workspaceId }: { workspaceId: number | null }) {
  const words = useTexts(texts);
  const { data } = useWorkspaces();
  if (workspaceId === null) return words.everywhere;
  return data?.find(({ id }) => id === workspaceId)?.name ?? words.gone;
}

function End({ at }: { at: string | null }) {
  const words = useTexts(texts);
  const now = useNow();
  if (at === null) return words.never;
  if (Date.parse(at) <= now) return <span className={styles.expired}>{words.EXPIRED}</span>;
  return <When at={at} />;
}

function Revoke({ of: key }: { of: Key }) {
  const words = useTexts(texts);
  const params = { path: { key_id: key.id } };
  return (
    <RevokeButton
      label={words.revoke(key.name)}
      title={words.revokeTitle(key.name)}
      text={words.revokeText}
      act={() => need(api.DELETE("/api/v1/keys/{key_id}", { params }))}
      renews={["keys"]}
      said={words.revoked(key.name)}
    />
  );
}
