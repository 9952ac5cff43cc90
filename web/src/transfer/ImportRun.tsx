import { Box, Button, Progress } from "@mantine/core";
import { Problem } from "../api/client";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { Card } from "../ui/Card";
import { useFormats } from "../ui/format";
import { FormProblem, useErrorText } from "../ui/states";
import { Stopped } from "./sending";
import styles from "./transfer.module.css";

interface Props {
  /** How much is sent, from 0 to 1; null: nothing runs. */
  part: number | null;
  isDry: boolean;
  error: unknown;
  onStart: (isDry: boolean) => void;
  onStop: () => void;
}

/** The file on its way, or what stopped it. */
export function ImportRun({ part, isDry, error, onStart, onStop }: Props) {
  const words = useTexts(transfer);
  const textOf = useFileText();
  if (part !== null) {
    const doing = part < 1 ? words.sending : isDry ? words.checking : words.waiting;
    return (
      <Card
        title={doing}
        acts={
          <Button variant="default" onClick={onStop}>
            {words.stop}
          </Button>
        }
      >
        <Progress value={100 * part} aria-label={doing} animated={part === 1} />
      </Card>
    );
  }
  if (isRefused(error)) return <FormProblem text={textOf(error)} />;
  return (
    <>
      <div className={styles.go}>
        <Button onClick={() => onStart(false)}>{words.run}</Button>
        <Button variant="default" onClick={() => onStart(true)}>
          {words.dry}
        </Button>
        <p>{words.dryText}</p>
      </div>
      {error instanceof Stopped ? (
        <Box component="p" role="status" my={16}>
          {isDry ? words.dryStopped : words.stopped}
        </Box>
      ) : (
        <FormProblem error={error} />
      )}
    </>
  );
}

/** The same file would be refused again. */
function isRefused(error: unknown): error is Problem {
  return error instanceof Problem && (error.status === 413 || error.status === 422);
}

/** What is wrong with a file as a whole. */
function useFileText(): (error: Problem) => string {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const textOf = useErrorText();
  return (error) => {
    const { reason, names, field, line, max_rows } = error.fields;
    if (typeof max_rows === "number") return words.tooManyRows(number(max_rows));
    if (reason === "unknown-columns" && Array.isArray(names)) {
      return words.unknownColumns(names.map((name) => words.quoted(String(name))).join(", "));
    }
    if (reason === "doubled-column") return words.twice(String(field));
    if (reason === "unclosed-quote") return words.unclosedQuote(number(Number(line)));
    if (reason === "empty-lines") return words.emptyLines;
    return reason === "empty" ? words.empty : textOf(error);
  };
}
