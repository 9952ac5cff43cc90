import { NativeSelect } from "@mantine/core";
import { useState } from "react";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { Confirm } from "../ui/Confirm";
import { RESTORE, useActs } from "./acts";
import type { Link } from "./queries";

const DAYS = [7, 30, 90, 365];
const DAY_MS = 86_400_000;

interface Props {
  link: Link;
  workspaceId: number | null;
  onClose: () => void;
}

/** Brings back a link that has expired, with a new end or none. */
export function ReviveDialog({ link, workspaceId, onClose }: Props) {
  const words = useTexts(texts);
  const run = useActs(workspaceId);
  const [days, setDays] = useState("");
  const act = async () => {
    const expiresAt = new Date(Date.now() + Number(days) * DAY_MS).toISOString();
    const { failed } = await run(days ? { ...RESTORE, expiresAt } : RESTORE, [link]);
    if (failed[0]) throw failed[0].problem;
  };
  return (
    <Confirm
      title={words.reviveTitle(link.short_code)}
      verb={words.restore}
      act={act}
      said={words.restored(1, link.short_code)}
      onClose={onClose}
    >
      <p>{words.reviveText}</p>
      <NativeSelect
        label={words.expires}
        data-autofocus
        value={days}
        onChange={(event) => setDays(event.currentTarget.value)}
        data={[
          { value: "", label: words.never },
          ...DAYS.map((count) => ({ value: String(count), label: words.inDays(count) })),
        ]}
      />
    </Confirm>
  );
}
