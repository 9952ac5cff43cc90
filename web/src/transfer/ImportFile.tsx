import { Button, NativeSelect } from "@mantine/core";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { Card } from "../ui/Card";
import { useFormats } from "../ui/format";
import type { Format } from "./sending";

interface Props {
  file: File;
  format: Format;
  /** null while they are not counted. */
  rows: number | null;
  /** False: another file or format cannot be chosen now. */
  isFree: boolean;
  onFormat: (format: Format) => void;
  onOther: () => void;
}

/** The file that was chosen, and what kurz takes it for. */
export function ImportFile({ file, format, rows, isFree, onFormat, onOther }: Props) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const size = sizeOf(file.size, number);
  const acts = (
    <>
      <NativeSelect
        aria-label={words.format}
        value={format}
        onChange={(event) => onFormat(event.currentTarget.value as Format)}
        data={[
          { value: "csv", label: words.csvName },
          { value: "jsonl", label: words.jsonlName },
        ]}
      />
      <Button variant="default" onClick={onOther}>
        {words.other}
      </Button>
    </>
  );
  return (
    <Card
      title={file.name}
      text={rows === null ? size : `${words.rows(number(rows))} · ${size}`}
      acts={isFree && acts}
    />
  );
}

function sizeOf(bytes: number, number: (value: number) => string): string {
  if (bytes < 1_000_000) return `${number(Math.ceil(bytes / 1000))} kB`;
  return `${number(Math.round(bytes / 100_000) / 10)} MB`;
}
