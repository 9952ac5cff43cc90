import { Button } from "@mantine/core";
import type { QueryKey } from "@tanstack/react-query";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { Asking } from "./Confirm";

interface Props {
  /** What a screen reader says, where there are several. */
  label?: string;
  title: string;
  text: string;
  act: () => Promise<unknown>;
  renews: QueryKey;
  said: string;
}

/** Takes back what lets somebody in, after a question. */
export function RevokeButton({ label, text, ...question }: Props) {
  const { withdraw: verb } = useTexts(common);
  return (
    <Asking
      {...question}
      verb={verb}
      isDangerous
      button={(ask) => (
        <Button variant="default" size="xs" aria-label={label} onClick={ask}>
          {verb}
        </Button>
      )}
    >
      {text}
    </Asking>
  );
}
