import { Button, Progress } from "@mantine/core";
import type { ReactNode } from "react";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { useFormats } from "../../ui/format";
import { Icon, type IconName } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import styles from "./BulkBar.module.css";

interface Props {
  count: number;
  /** How many are done, while something runs. */
  running: number | null;
  onClear: () => void;
  children: ReactNode;
}

/** Stands at the lower edge while links are selected. */
export function BulkBar({ count, running, onClear, children }: Props) {
  const words = useTexts(texts);
  const { number } = useFormats();
  if (count === 0) return null;
  return (
    <section className={`panel ${styles.bar}`} data-at-foot aria-label={words.selection}>
      <span className={styles.count} aria-live="polite">
        {words.selected(number(count))}
      </span>
      {running === null ? (
        <>
          <div className={styles.buttons}>{children}</div>
          <IconButton icon="close" label={words.clearSelection} onClick={onClear} />
        </>
      ) : (
        <div className={styles.run}>
          <Progress value={(100 * running) / count} aria-label={words.selection} animated />
          {words.working(number(running), number(count))}
        </div>
      )}
    </section>
  );
}

export function BulkButton(props: {
  icon: IconName;
  isBad?: boolean;
  onClick: () => void;
  children: string;
}) {
  return (
    <Button
      variant="subtle"
      color={props.isBad ? "bad" : "gray"}
      c={props.isBad ? "var(--kurz-bad)" : "var(--mantine-color-text)"}
      px={10}
      leftSection={<Icon name={props.icon} size={16} />}
      onClick={props.onClick}
    >
      {props.children}
    </Button>
  );
}
