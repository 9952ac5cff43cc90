import { Checkbox, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, need, Problem } from "../api/client";
import { reports as texts } from "../strings/adminReports";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { type Group, hostOf } from "./groups";
import styles from "./ReportsPage.module.css";

interface Props {
  group: Group;
  state: "upheld" | "dismissed";
  onClose: () => void;
}

/** Upheld, the server decides all open reports of the link; dismissed, each has to be. */
export function DecideDialog({ group, state, onClose }: Props) {
  const words = useTexts(texts);
  const queries = useQueryClient();
  const [note, setNote] = useState("");
  const [bansHost, setBansHost] = useState(false);
  const { first, reports } = group;
  const code = first.short_code;
  const host = hostOf(first.location);
  const isUpheld = state === "upheld";
  const run = async () => {
    const body = { state, bans_host: isUpheld && bansHost, note: note.trim() || null };
    try {
      for (const { id } of isUpheld ? [first] : reports) await decide(id, body);
    } finally {
      await queries.invalidateQueries({ queryKey: ["admin"] });
    }
  };
  return (
    <Confirm
      title={isUpheld ? words.upholdAsk(code) : words.dismissAsk(code)}
      verb={isUpheld ? words.upholdVerb : words.dismiss}
      isDangerous={isUpheld}
      act={run}
      said={isUpheld ? words.nowUpheld(code) : words.nowDismissed(code)}
      onClose={onClose}
    >
      <p>{isUpheld ? words.upholdText : words.dismissText(reports.length)}</p>
      {isUpheld && host && (
        <Checkbox
          className={styles.check ?? ""}
          label={words.banHost(host)}
          description={words.banHostHint}
          checked={bansHost}
          onChange={(event) => setBansHost(event.currentTarget.checked)}
        />
      )}
      <TextInput
        label={words.note}
        description={words.noteHint}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </Confirm>
  );
}

interface Decision {
  state: "upheld" | "dismissed";
  bans_host: boolean;
  note: string | null;
}

/** What somebody else has decided meanwhile stays so. */
async function decide(reportId: number, body: Decision): Promise<void> {
  const params = { path: { report_id: reportId } };
  try {
    await need(api.PATCH("/api/v1/reports/{report_id}", { params, body }));
  } catch (error) {
    const isDecided = error instanceof Problem && error.code === "report-decided";
    if (!isDecided || body.state === "upheld") throw error;
  }
}
