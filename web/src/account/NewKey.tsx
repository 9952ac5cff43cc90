import type { Schemas } from "../api/client";
import { baseUrl } from "../api/server";
import { keys as texts } from "../strings/keys";
import { useTexts } from "../strings/language";
import { DialogEnd } from "../ui/DialogActs";
import form from "../ui/form.module.css";
import { Secret } from "../ui/Secret";
import styles from "./keys.module.css";

type Made = Schemas["NewKeyRead"];

/** A key, the one time that it is shown, and what can be done with it. */
export function NewKey({ made, onClose }: { made: Made; onClose: () => void }) {
  const words = useTexts(texts);
  return (
    <div className={form.form}>
      <p className={form.text}>{words.once}</p>
      <Secret value={made.key} label={words.copyKey} />
      <div>
        <p className={styles.curl}>{words.example}</p>
        <Secret value={exampleOf(made)} label={words.copyExample} />
      </div>
      <DialogEnd verb="done" onClose={onClose} />
    </div>
  );
}

/** A command that this very key is allowed. */
function exampleOf({ key, scopes, workspace_id }: Made): string {
  const place = workspace_id === null ? "" : `/workspaces/${workspace_id}`;
  const call = (path: string) => `curl ${baseUrl}/api/v1${path} -H 'X-Api-Key: ${key}'`;
  if (scopes.includes("links:create") || scopes.includes("links:write")) {
    const body = `{"original_url": "https://example.com/"}`;
    return `${call(`${place}/links`)} -H 'Content-Type: application/json' -d '${body}'`;
  }
  if (scopes.includes("links:read")) return call(`${place}/links`);
  if (scopes.includes("stats:read")) return call(place ? `${place}/stats` : "/me/stats");
  return call("/admin/accounts");
}
