import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import styles from "./Confirm.module.css";
import { Dialog } from "./Dialog";
import { FormProblem } from "./states";

interface Props {
  title: string;
  /** What will happen, and whether there is a way back. */
  children: ReactNode;
  /** The button's verb. */
  verb: string;
  isDangerous?: boolean;
  isDisabled?: boolean;
  act: () => Promise<unknown>;
  onClose: () => void;
}

/** Asks before something is done, does it, and says in place why it could not be. */
export function Confirm({ title, children, verb, act, onClose, ...state }: Props) {
  const words = useTexts(common);
  const run = useMutation({ mutationFn: act, onSuccess: onClose });
  return (
    <Dialog onClose={onClose} title={title} isBusy={run.isPending}>
      <div className={styles.text}>{children}</div>
      <FormProblem error={run.error} />
      <div className={styles.acts}>
        <Button variant="default" data-autofocus disabled={run.isPending} onClick={onClose}>
          {words.cancel}
        </Button>
        <Button
          {...(state.isDangerous ? { color: "bad" } : {})}
          loading={run.isPending}
          disabled={state.isDisabled ?? false}
          onClick={() => run.mutate()}
        >
          {verb}
        </Button>
      </div>
    </Dialog>
  );
}
