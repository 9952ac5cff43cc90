import { Button } from "@mantine/core";
import { type Ref, useState } from "react";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { useCopy } from "./copying";
import { Icon } from "./Icon";
import { IconButton } from "./IconButton";

const DONE_MS = 2000;

interface Props {
  text: string;
  /** Only the sign; `label` says what is copied to those who do not see it. */
  isSmall?: boolean;
  label?: string;
  ref?: Ref<HTMLButtonElement>;
}

export function CopyButton({ text, isSmall = false, label, ref = null }: Props) {
  const words = useTexts(common);
  const copy = useCopy();
  const [isDone, setDone] = useState(false);
  const run = async () => {
    if (!(await copy(text))) return;
    setDone(true);
    window.setTimeout(() => setDone(false), DONE_MS);
  };
  if (isSmall) {
    const icon = isDone ? "check" : "copy";
    return <IconButton ref={ref} icon={icon} label={label ?? words.copy} onClick={run} />;
  }
  return (
    <Button
      ref={ref}
      size="md"
      leftSection={<Icon name={isDone ? "check" : "copy"} size={18} />}
      onClick={run}
      miw={132}
    >
      {isDone ? words.copied : words.copy}
    </Button>
  );
}
