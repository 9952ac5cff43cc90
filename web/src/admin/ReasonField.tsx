import { TextInput } from "@mantine/core";
import { admin } from "../strings/admin";
import { useTexts } from "../strings/language";

/** Why somebody or something is banned. */
export function ReasonField(props: { value: string; onChange: (text: string) => void }) {
  const words = useTexts(admin);
  return (
    <TextInput
      label={words.reason}
      data-autofocus
      description={words.reasonHint}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
