import { TextInput } from "@mantine/core";
import { useState } from "react";
import { api, need } from "../api/client";
import { reports as texts } from "../strings/adminReports";
import { useTexts } from "../strings/language";
import { Confirm } from "../ui/Confirm";
import { ReasonField } from "./ReasonField";
import styles from "./ReportsPage.module.css";

export function BanHost({ onClose }: { onClose: () => void }) {
  const words = useTexts(texts);
  const [host, setHost] = useState("");
  const [reason, setReason] = useState("");
  const ban = () => {
    const params = { path: { host: host.trim() } };
    const body = { reason: reason.trim() || null };
    return need(api.PUT("/api/v1/admin/hosts/{host}/ban", { params, body }));
  };
  return (
    <Confirm
      title={words.banAHost}
      verb={words.banAHost}
      isDangerous
      isDisabled={!host.trim()}
      act={ban}
      renews={["admin"]}
      said={({ subject }) => words.hostBanned(subject)}
      onClose={onClose}
    >
      <p>{words.banHostText}</p>
      <TextInput
        className={styles.field ?? ""}
        label={words.host}
        description={words.hostHint}
        data-autofocus
        autoCapitalize="off"
        spellCheck={false}
        value={host}
        onChange={(event) => setHost(event.currentTarget.value)}
      />
      <ReasonField value={reason} onChange={setReason} />
    </Confirm>
  );
}
