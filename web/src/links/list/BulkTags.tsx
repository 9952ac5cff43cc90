import { TagsInput } from "@mantine/core";
import { useMemo, useState } from "react";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { useCutText } from "../../ui/CutNote";
import { Dialog } from "../../ui/Dialog";
import { DialogActs } from "../../ui/DialogActs";
import type { Act } from "../acts";
import { type Link, useTags } from "../queries";
import styles from "./BulkBar.module.css";

interface Props {
  links: readonly Link[];
  workspaceId: number | null;
  onSave: (act: Act) => void;
  onClose: () => void;
}

/** Tags to put on all of them, and tags to take off. */
export function BulkTags({ links, workspaceId, onSave, onClose }: Props) {
  const words = useTexts(texts);
  const known = useTags(workspaceId).data ?? [];
  const cutText = useCutText();
  const [added, setAdded] = useState<string[]>([]);
  const [removed, setRemoved] = useState<readonly string[]>([]);
  const present = useMemo(() => [...new Set(links.flatMap((link) => link.tags))].sort(), [links]);
  const flip = (tag: string) =>
    setRemoved(removed.includes(tag) ? removed.filter((it) => it !== tag) : [...removed, tag]);
  return (
    <Dialog onClose={onClose} title={words.tagTitle(links.length)}>
      <TagsInput
        label={words.addTags}
        placeholder={added.length === 0 ? words.addTagsHint : ""}
        className={styles.field ?? ""}
        data-autofocus
        description={cutText(known)}
        data={known.map(({ tag }) => tag)}
        maxDropdownHeight={160}
        splitChars={[","]}
        acceptValueOnBlur
        value={added}
        onChange={setAdded}
      />
      {present.length > 0 && (
        <fieldset className={styles.field}>
          <legend>{words.removeTags}</legend>
          <div className={styles.tags}>
            {present.map((tag) => (
              <button
                key={tag}
                type="button"
                className={styles.tag}
                aria-pressed={removed.includes(tag)}
                onClick={() => flip(tag)}
              >
                {tag}
              </button>
            ))}
          </div>
        </fieldset>
      )}
      <DialogActs
        verb={words.save}
        act={() => onSave(tagged(added, removed))}
        isDisabled={added.length + removed.length === 0}
        onClose={onClose}
      />
    </Dialog>
  );
}

function tagged(added: readonly string[], removed: readonly string[]): Act {
  return {
    kind: "edit",
    changesOf: ({ tags }) => ({
      tags: [...new Set([...tags.filter((tag) => !removed.includes(tag)), ...added])],
    }),
  };
}
