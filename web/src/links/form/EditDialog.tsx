import { useState } from "react";
import { Problem } from "../../api/client";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { FormProblem } from "../../ui/states";
import { toast } from "../../ui/toasts";
import type { Link } from "../queries";
import { EditConflict } from "./EditConflict";
import { type Change, useSave } from "./EditQuery";
import {
  changedBetween,
  type Fields,
  fieldsOf,
  findWrong,
  movedOver,
  touched,
  type Wrong,
  wrongBy,
} from "./editing";
import { LinkFormMore, LinkFormUrl } from "./LinkForm";
import { LinkFormFrame } from "./LinkFormFrame";

interface Props {
  link: Link;
  workspaceId: number | null;
  onClose: () => void;
}

/** Changes a link. Where somebody else was quicker, both states are shown, and one is chosen. */
export function EditDialog({ link, workspaceId, onClose }: Props) {
  const words = useTexts(texts);
  const { base, fields, wrong, theirs, save, ...edit } = useEdit(link, workspaceId, onClose);
  const props = { workspaceId, link: base, fields, change: edit.change, wrong };
  const isElsewhere = save.isError && !(save.error instanceof Problem);
  return (
    <>
      <LinkFormFrame
        title={words.edit(base.short_code)}
        isDirty={edit.isDirty}
        isBehind={theirs !== undefined}
        wrong={wrong}
        onSubmit={edit.submit}
        onClose={onClose}
        verb={words.save}
        isPending={save.isPending}
      >
        <LinkFormUrl {...props} />
        <LinkFormMore {...props} />
        <FormProblem error={isElsewhere ? save.error : wrong[""]} />
      </LinkFormFrame>
      {theirs && (
        <EditConflict
          base={base}
          theirs={theirs}
          fields={fields}
          takeTheirs={() => edit.takeTheirs(theirs)}
          keepMine={() => edit.keepMine(theirs)}
          onClose={edit.goBack}
        />
      )}
    </>
  );
}

/** What is typed over which state of the link, and what becomes of it. */
function useEdit(link: Link, workspaceId: number | null, onClose: () => void) {
  const words = useTexts(texts);
  const [base, setBase] = useState(link);
  const [fields, setFields] = useState<Fields>(() => fieldsOf(link));
  const [wrong, setWrong] = useState<Wrong>({});
  const [theirs, setTheirs] = useState<Link>();
  const save = useSave(workspaceId);
  const mine = touched(fieldsOf(base), fields);

  const change = (part: Partial<Fields>) => {
    setFields((before) => ({ ...before, ...part }));
    setWrong({});
  };
  const send = (wanted: Change) =>
    save.mutate(wanted, {
      onError: (error) => setWrong(error instanceof Problem ? wrongBy(error) : {}),
      onSuccess: (outcome) => {
        if ("theirs" in outcome) return setTheirs(outcome.theirs);
        toast(words.saved);
        onClose();
      },
    });
  const submit = () => {
    if (save.isPending) return;
    const found = findWrong(fields, base);
    setWrong(found);
    if (Object.keys(found).length > 0) return;
    if (mine.length === 0) return onClose();
    send({ base, fields });
  };
  /** From now on it is their state that is changed. */
  const moveOver = (state: Link, next: Fields): Change => {
    setBase(state);
    setFields(next);
    setTheirs(undefined);
    return { base: state, fields: next };
  };
  const takeTheirs = (state: Link) => {
    const taken = fieldsOf(state);
    const names = changedBetween(base, state);
    const replaced = Object.fromEntries(names.map((name) => [name, taken[name]]));
    moveOver(state, { ...movedOver(base, state, fields), ...replaced });
    toast(words.took);
  };
  const keepMine = (state: Link) => send(moveOver(state, movedOver(base, state, fields)));
  const goBack = () => setTheirs(undefined);
  const isDirty = mine.length > 0;
  return {
    ...{ base, fields, wrong, theirs, save, isDirty },
    ...{ change, submit, takeTheirs, keepMine, goBack },
  };
}
