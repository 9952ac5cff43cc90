import { Button } from "@mantine/core";
import {
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from "react";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { Confirm } from "../../ui/Confirm";
import { useStay } from "../../ui/stay";
import type { Wrong } from "./editing";
import styles from "./LinkForm.module.css";
import { LinkFormModal } from "./LinkFormModal";

interface Props {
  title: string;
  /** Something was typed that closing would lose. */
  isDirty: boolean;
  /** Something else is in front of the form. */
  isBehind?: boolean;
  wrong: Wrong;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
  /** The button's verb. */
  verb: string;
  isPending: boolean;
}

/** The dialog around the form: Enter sends it, Control and Enter from anywhere in it; what was typed
 *  is not thrown away unasked. */
export function LinkFormFrame({ isDirty, onClose, onSubmit, wrong, ...props }: Props) {
  const words = useTexts(texts);
  const [isAsking, setAsking] = useState(false);
  useStay(isDirty, setAsking);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (Object.keys(wrong).length === 0) return;
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [wrong]);
  const close = () => (isDirty ? setAsking(true) : onClose());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault(); // the field would send the form, too
    // A tag that was being typed becomes one first.
    window.setTimeout(() => form.current?.requestSubmit());
  };
  return (
    <>
      <LinkFormModal
        onClose={close}
        closeOnEscape={!isAsking && props.isBehind !== true}
        title={props.title}
        isBusy={props.isPending}
      >
        <form ref={form} className={styles.form} onSubmit={submit} onKeyDown={press} noValidate>
          <div className={styles.fields}>{props.children}</div>
          <div className={styles.acts}>
            <Button variant="default" disabled={props.isPending} onClick={close}>
              {words.cancel}
            </Button>
            <Button type="submit" loading={props.isPending}>
              {props.verb}
            </Button>
          </div>
        </form>
      </LinkFormModal>
      {isAsking && (
        <Confirm
          title={words.unsaved}
          verb={words.discard}
          isDangerous
          act={async () => onClose()}
          onClose={() => setAsking(false)}
        >
          <p>{words.unsavedText}</p>
        </Confirm>
      )}
    </>
  );
}
