import { api, need } from "../api/client";
import { reports as texts } from "../strings/adminReports";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";

/** A ban that is to end: of whom or what. */
export interface Lifted {
  kind: "host" | "person" | "link";
  name: string;
  id: string;
}

const TEXTS = {
  host: "unbanHostText",
  person: "unbanPersonText",
  link: "unbanLinkText",
} as const;

export function Unban({ lifted, onClose }: { lifted: Lifted; onClose: () => void }) {
  const words = useTexts(texts);
  return (
    <Confirm
      title={words.unbanAsk(lifted.name)}
      verb={words.unban}
      act={() => lift(lifted)}
      renews={["admin"]}
      said={words.unbanned(lifted.name)}
      onClose={onClose}
    >
      <p>{words[TEXTS[lifted.kind]]}</p>
    </Confirm>
  );
}

function lift({ kind, id }: Lifted) {
  if (kind === "host") {
    return need(api.DELETE("/api/v1/admin/hosts/{host}/ban", { params: { path: { host: id } } }));
  }
  if (kind === "person") {
    const params = { path: { account_id: Number(id) } };
    return need(api.DELETE("/api/v1/admin/accounts/{account_id}/ban", { params }));
  }
  const params = { path: { link_id: Number(id) } };
  return need(api.DELETE("/api/v1/admin/links/{link_id}/ban", { params }));
}
