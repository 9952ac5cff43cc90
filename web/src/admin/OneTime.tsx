import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { need, newIdempotencyKey, type Schemas } from "../api/client";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Dialog } from "../ui/Dialog";
import { DialogActs, DialogEnd } from "../ui/DialogActs";
import { Secret } from "../ui/Secret";
import { FormProblem } from "../ui/states";
import styles from "./admin.module.css";

interface Props {
  title: string;
  /** What the link will let somebody do. */
  ask: string;
  verb: string;
  /** What to do with it. */
  text: string;
  /** Where it is made. */
  path: string;
  onClose: () => void;
}

/** Makes a link that works once, and shows it once. */
export function OneTime({ title, ask, verb, text, path, onClose }: Props) {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const [key] = useState(newIdempotencyKey);
  const made = useMutation({
    mutationFn: () => make(path, key),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
  return (
    <Dialog onClose={onClose} title={title} size="lg" isBusy={made.isPending}>
      <p className={styles.dialogText}>{made.data ? text : ask}</p>
      {made.data && <Secret value={made.data.url} label={words.copyLink} />}
      <FormProblem error={made.error} />
      {made.data ? (
        <DialogEnd verb="done" onClose={onClose} />
      ) : (
        <DialogActs
          verb={verb}
          act={() => made.mutate()}
          isBusy={made.isPending}
          isCancelFirst
          onClose={onClose}
        />
      )}
    </Dialog>
  );
}

/** By its path, for two kinds of them are made in the same way. */
async function make(path: string, key: string): Promise<Schemas["OneTimeLink"]> {
  const headers = { "idempotency-key": key };
  const answer = fetch(path, { method: "POST", headers, credentials: "same-origin" });
  return need(
    answer.then(async (response) => {
      const body: unknown = await response.json().catch(() => null);
      return { data: body as Schemas["OneTimeLink"], error: body, response };
    }),
  );
}
