import { Button, Progress } from "@mantine/core";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { Card } from "../ui/Card";
import { FormProblem } from "../ui/states";
import { Stopped } from "./sending";
import styles from "./transfer.module.css";

interface Props {
  /** How much is sent, from 0 to 1; null: nothing runs. */
  part: number | null;
  isDry: boolean;
  /** The server would refuse the whole file. */
  isRefused: boolean;
  error: unknown;
  onStart: (isDry: boolean) => void;
  onStop: () => void;
}

export function ImportRun({ part, isDry, isRefused, error, onStart, onStop }: Props) {
  const words = useTexts(transfer);
  if (part !== null) {
    const doing = part === 1 ? words.waiting : isDry ? words.checking : words.sending;
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
  return (
    <>
      <div className={styles.go}>
        <Button disabled={isRefused} onClick={() => onStart(false)}>
          {words.run}
        </Button>
        <Button variant="default" disabled={isRefused} onClick={() => onStart(true)}>
          {words.dry}
        </Button>
        <p>{words.dryText}</p>
      </div>
      {error instanceof Stopped ? (
        <p role="status">{words.stopped}</p>
      ) : (
        <FormProblem error={error} />
      )}
    </>
  );
}
