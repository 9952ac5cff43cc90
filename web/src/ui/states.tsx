import { Button, Loader } from "@mantine/core";
import type { ReactNode } from "react";
import { isRefused, Problem } from "../api/client";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { useProblemText } from "../strings/problems";
import { Icon, type IconName } from "./Icon";
import styles from "./states.module.css";

/** Nothing here yet: one sentence that teaches, one button. */
export function Empty(props: {
  icon: IconName;
  title: string;
  text: string;
  children?: ReactNode;
}) {
  return (
    <div className={styles.state}>
      <span className={styles.sign}>
        <Icon name={props.icon} size={28} />
      </span>
      <h2>{props.title}</h2>
      <p>{props.text}</p>
      {props.children}
    </div>
  );
}

/** A page or part that could not be loaded. `text`: what happened, where the error does not say it. */
export function Failed(props: { error: unknown; retry: () => void; text?: string; verb?: string }) {
  const words = useTexts(common);
  return (
    <div className={styles.state} role="alert">
      <span className={styles.sign} data-bad>
        <Icon name="warn" size={28} />
      </span>
      <h2>{words.failed}</h2>
      <p>{props.text ?? <ProblemText error={props.error} />}</p>
      <Button variant="default" onClick={props.retry}>
        {props.verb ?? words.tryAgain}
      </Button>
    </div>
  );
}

/** A wait that is longer than the eye notices; shown late, so that quick ones do not flicker. */
export function Loading() {
  const words = useTexts(common);
  return (
    <div className={styles.loading} role="status">
      <Loader size={28} />
      <span className="unseen">{words.loading}</span>
    </div>
  );
}

/** Any error in a sentence. */
export function useErrorText(): (error: unknown) => string {
  const words = useTexts(common);
  const text = useProblemText();
  return (error) => (error instanceof Problem ? text(error) : words.unknown);
}

/** A refusal by the server, beside the fields of a form: `beside` has the sentence of a field, and
 *  `rest` is the error if it is about none of them. */
export function useRefusal(error: unknown, ...fields: string[]) {
  const text = useErrorText();
  return {
    beside: (field: string) => isRefused(error, field) && text(error),
    rest: fields.some((field) => isRefused(error, field)) ? null : error,
  };
}

export function ProblemText({ error }: { error: unknown }) {
  return useErrorText()(error);
}

/** Beside a form that was refused. What was typed stays. `text`: as for `Failed`. */
export function FormProblem({ error, text }: { error?: unknown; text?: string }) {
  if (!error && !text) return null;
  return (
    <p className={styles.problem} role="alert">
      <Icon name="warn" />
      <span>{text ?? <ProblemText error={error} />}</span>
    </p>
  );
}
