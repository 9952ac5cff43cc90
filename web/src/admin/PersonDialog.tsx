import { useState } from "react";
import { api, need } from "../api/client";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { OneTime } from "./OneTime";
import { PersonQuota } from "./PersonQuota";
import type { Person } from "./queries";
import { ReasonField } from "./ReasonField";

export type PersonAct =
  | "makeAdmin"
  | "unmakeAdmin"
  | "allowImports"
  | "limitImports"
  | "disable"
  | "enable"
  | "reset"
  | "quota"
  | "ban"
  | "unban";

interface Props {
  person: Person;
  act: PersonAct;
  onClose: () => void;
}

const DANGEROUS: readonly PersonAct[] = ["unmakeAdmin", "disable", "ban"];
const DONE = {
  makeAdmin: "nowAdmin",
  unmakeAdmin: "notAdmin",
  allowImports: "nowAllowed",
  limitImports: "nowLimited",
  disable: "nowDisabled",
  enable: "nowEnabled",
  ban: "nowBanned",
  unban: "nowUnbanned",
} as const;

/** Asks, does it, and says so. */
export function PersonDialog({ person, act, onClose }: Props) {
  const words = useTexts(texts);
  const [reason, setReason] = useState("");
  if (act === "reset") {
    return (
      <OneTime
        title={words.resetTitle(person.email)}
        ask={words.resetAsk}
        verb={words.resetMake}
        text={words.resetText}
        path={`/api/v1/admin/accounts/${person.id}/reset-link`}
        onClose={onClose}
      />
    );
  }
  if (act === "quota") return <PersonQuota person={person} onClose={onClose} />;
  return (
    <Confirm
      title={words[`${act}Ask`](person.email)}
      verb={words[act]}
      isDangerous={DANGEROUS.includes(act)}
      act={() => doAct(person.id, act, reason.trim() || null)}
      renews={["admin"]}
      said={words[DONE[act]](person.email)}
      onClose={onClose}
    >
      <p>{words[`${act}Text`]}</p>
      {act === "ban" && <ReasonField value={reason} onChange={setReason} />}
    </Confirm>
  );
}

function doAct(
  accountId: number,
  act: Exclude<PersonAct, "reset" | "quota">,
  reason: string | null,
): Promise<unknown> {
  const params = { path: { account_id: accountId } };
  const ban = "/api/v1/admin/accounts/{account_id}/ban";
  if (act === "ban") return need(api.PUT(ban, { params, body: { reason } }));
  if (act === "unban") return need(api.DELETE(ban, { params }));
  const body = EDITS[act];
  return need(api.PATCH("/api/v1/admin/accounts/{account_id}", { params, body }));
}

const EDITS = {
  makeAdmin: { is_admin: true },
  unmakeAdmin: { is_admin: false },
  allowImports: { may_import_many: true },
  limitImports: { may_import_many: false },
  disable: { is_disabled: true },
  enable: { is_disabled: false },
};
