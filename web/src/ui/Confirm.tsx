import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import styles from "./Confirm.module.css";
import { Dialog } from "./Dialog";
import { DialogActs } from "./DialogActs";
import { FormProblem } from "./states";
import { toast } from "./toasts";

interface Question<T> {
  title: string;
  /** What will happen, and whether there is a way back. */
  children: ReactNode;
  /** The button's verb. */
  verb: string;
  isDangerous?: boolean;
  isDisabled?: boolean;
  act: () => Promise<T>;
  /** What is asked for again when it is done: the beginning of its key. */
  renews?: QueryKey;
  /** What is said when it is done. */
  said?: string | ((result: T) => string);
}

/** Asks before something is done, does it, and says in place why it could not be. */
export function Confirm<T>(props: Question<T> & { onClose: () => void }) {
  const { title, children, act, renews, said, onClose, ...look } = props;
  const queries = useQueryClient();
  const run = useMutation({
    mutationFn: async () => {
      const result = await act();
      if (renews) await queries.invalidateQueries({ queryKey: renews });
      if (said) toast(typeof said === "string" ? said : said(result));
    },
    onSuccess: onClose,
  });
  return (
    <Dialog onClose={onClose} title={title} isBusy={run.isPending}>
      <div className={styles.text}>{children}</div>
      <FormProblem error={run.error} />
      <DialogActs
        {...look}
        act={() => run.mutate()}
        isBusy={run.isPending}
        isCancelFirst
        onClose={onClose}
      />
    </Dialog>
  );
}

/** Asks when it is pressed: `button` is what can be. */
export function Asking<T>(props: Question<T> & { button: (ask: () => void) => ReactNode }) {
  const { button, ...question } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      {button(() => setOpen(true))}
      {isOpen && <Confirm {...question} onClose={() => setOpen(false)} />}
    </>
  );
}
