import { TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "../api/client";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { toast } from "../ui/toasts";
import type { Person } from "./PeopleTable";

/** How many links a person may create in a month. */
export function PersonQuota({ person, onClose }: { person: Person; onClose: () => void }) {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const now = person.links_per_month;
  const [text, setText] = useState(now === "unlimited" ? words.noLimit : (now?.toString() ?? ""));
  const typed = text.trim().toLowerCase();
  const isUnlimited = typed === words.noLimit;
  const run = async () => {
    const params = { path: { account_id: person.id } };
    const quota = isUnlimited ? ("unlimited" as const) : typed ? Number(typed) : null;
    const body = { links_per_month: quota };
    await need(api.PUT("/api/v1/admin/accounts/{account_id}/quota", { params, body }));
    await queries.invalidateQueries({ queryKey: ["admin", "accounts"] });
    toast(words.quotaSaved);
  };
  return (
    <Confirm
      title={words.quotaTitle(person.email)}
      verb={words.quotaSave}
      isDisabled={!isUnlimited && !/^\d{0,12}$/.test(typed)}
      act={run}
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
