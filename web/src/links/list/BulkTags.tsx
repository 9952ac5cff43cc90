import { Button, TagsInput } from "@mantine/core";
import { useMemo, useState } from "react";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { Dialog } from "../ui/Dialog";
import type { Act } from "./acts";
import styles from "./BulkBar.module.css";
import { type Link, useTags } from "./queries";

interface Props {
  links: readonly Link[];
  workspaceId: number | null;
  onSave: (act: Act) => void;
  onClose: () => void;
}

/** Tags to put on all of them, and tags to take off. */
export function BulkTags({ links, workspaceId, onSave, onClose }: Props) {
  const words = useTexts(texts);
  const { cancel } = useTexts(common);
  const known = useTags(workspaceId).data ?? [];
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
      <div className={styles.acts}>
        <Button variant="default" onClick={onClose}>
          {cancel}
        </Button>
        <Button
          disabled={added.length + removed.length === 0}
          onClick={() => onSave(tagged(added, removed))}
        >
          {words.save}
        </Button>
      </div>
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
