import { Button } from "@mantine/core";
import { type DragEvent, useRef, useState } from "react";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { useFormats } from "../ui/format";
import { Icon } from "../ui/Icon";
import styles from "./transfer.module.css";

interface Props {
  /** In one file; null while it is not known. */
  maxRows: number | null;
  onChoose: (file: File) => void;
}

/** A file is chosen, or dropped anywhere on it. */
export function FileDrop({ maxRows, onChoose }: Props) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const input = useRef<HTMLInputElement>(null);
  const [isOver, setOver] = useState(false);
  const take = (files: FileList | null) => {
    const file = files?.[0];
    if (file) onChoose(file);
  };
  const over = (event: DragEvent, is: boolean) => {
    event.preventDefault();
    setOver(is);
  };
  return (
    <section
      className={styles.drop}
      aria-label={words.importTitle}
      data-over={isOver || undefined}
      onDragOver={(event) => over(event, true)}
      onDragLeave={(event) => over(event, false)}
      onDrop={(event) => {
        over(event, false);
        take(event.dataTransfer.files);
      }}
    >
      <Icon name="upload" size={32} />
      <h2>{words.drop}</h2>
      <p>{words.dropText}</p>
      {maxRows !== null && <p>{words.maxRows(number(maxRows))}</p>}
      <input
        ref={input}
        type="file"
        hidden
        accept=".csv,.jsonl,.ndjson,.json,text/csv"
        onChange={(event) => take(event.currentTarget.files)}
      />
      <Button onClick={() => input.current?.click()}>{words.choose}</Button>
    </section>
  );
}
