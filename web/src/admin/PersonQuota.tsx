import { TextInput } from "@mantine/core";
import { useState } from "react";
import { api, need } from "../api/client";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import type { Person } from "./queries";

/** How many links a person may create in a month. */
export function PersonQuota({ person, onClose }: { person: Person; onClose: () => void }) {
  const words = useTexts(texts);
  const now = person.links_per_month;
  const [text, setText] = useState(now === "unlimited" ? words.unlimited : (now?.toString() ?? ""));
  const typed = text.trim().toLowerCase();
  const isUnlimited = typed === words.unlimited.toLowerCase();
  const save = () => {
    const params = { path: { account_id: person.id } };
    const quota = isUnlimited ? ("unlimited" as const) : typed ? Number(typed) : null;
    const body = { links_per_month: quota };
    return need(api.PUT("/api/v1/admin/accounts/{account_id}/quota", { params, body }));
  };
  return (
    <Confirm
      title={words.quotaTitle(person.email)}
      verb={words.save}
      isDisabled={!isUnlimited && !/^\d{0,12}$/.test(typed)}
      act={save}
      renews={["admin", "accounts"]}
      said={words.quotaSaved}
      onClose={onClose}
    >
      <TextInput
        label={words.quota}
        data-autofocus
        description={words.personQuotaText}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </Confirm>
  );
}
