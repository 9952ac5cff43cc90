import { Button, NativeSelect } from "@mantine/core";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { Card } from "../ui/Card";
import { useFormats } from "../ui/format";
import { Icon } from "../ui/Icon";
import { FIELDS } from "./fields";
import type { Fault, Preview, Trouble } from "./read";
import styles from "./transfer.module.css";
import type { Format } from "./write";

const LONGEST = 200; // characters of a cell; the rest would not be seen
const MOST_NAMES = 10;
const LONGEST_NAME = 60;

interface Props {
  file: File;
  preview: Preview;
  /** The limit that the file exceeds; null if it does not. */
  maxRows: number | null;
  /** Only the file's name: what is shown below it matters more now. */
  isFolded: boolean;
  onFormat: (format: Format) => void;
  onOther: () => void;
}

/** What is in the file, and what kurz takes it for. */
export function ImportPreview({ file, preview, maxRows, isFolded, onFormat, onOther }: Props) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const count = number(preview.count);
  const rows = preview.isWhole ? words.rows(count) : words.rowsOrMore(count);
  const acts = (
    <>
      <NativeSelect
        aria-label={words.format}
        value={preview.format}
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
    <>
      <Card
        title={file.name}
        text={`${rows} · ${sizeOf(file.size, number)}`}
        acts={!isFolded && acts}
      >
        {!isFolded && (
          <>
            <Columns columns={preview.columns} />
            {maxRows !== null && (
              <p className={styles.problem} role="alert">
                <Icon name="warn" />
                <span>{words.tooManyRows(number(maxRows))}</span>
              </p>
            )}
            {preview.faults.map((fault) => (
              <FaultText key={fault.kind} fault={fault} />
            ))}
          </>
        )}
      </Card>
      {!isFolded && preview.rows.length > 0 && <Rows preview={preview} />}
    </>
  );
}

function sizeOf(bytes: number, number: (value: number) => string): string {
  if (bytes < 1_000_000) return `${number(Math.ceil(bytes / 1000))} kB`;
  return `${number(Math.round(bytes / 100_000) / 10)} MB`;
}

function Columns({ columns }: { columns: Preview["columns"] }) {
  const words = useTexts(transfer);
  return (
    <ul className={styles.columns} aria-label={words.columns}>
      {columns.slice(0, 40).map(({ name, field }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: names may be the same
        <li key={at} data-bad={field === null || undefined}>
          {field === null && <Icon name="warn" size={14} />}
          {name.slice(0, 60) || "–"}
          {field !== name && <span>→ {field ?? words.ignored}</span>}
        </li>
      ))}
    </ul>
  );
}

/** Names in quotes, the first ones, each short enough to be read. */
function useNames(): (names: readonly string[]) => string {
  const { quoted } = useTexts(common);
  return (names) =>
    names
      .slice(0, MOST_NAMES)
      .map((name) => quoted(name.slice(0, LONGEST_NAME)))
      .join(", ");
}

function FaultText({ fault }: { fault: Fault }) {
  const words = useTexts(transfer);
  const list = useNames();
  const texts = {
    unknownColumns: () => words.unknownColumns("names" in fault ? list(fault.names) : ""),
    twice: () => words.twice("field" in fault ? fault.field : ""),
    noUrl: () => words.noUrl,
    empty: () => words.empty,
    notText: () => words.notText,
  };
  return (
    <p className={styles.problem} role="alert">
      <Icon name="warn" />
      <span>{texts[fault.kind]()}</span>
    </p>
  );
}

function Rows({ preview }: { preview: Preview }) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const { troubles } = preview;
  const known = new Set(preview.columns.map(({ field }) => field));
  const fields = FIELDS.filter((field) => known.has(field));
  const text = troubles > 0 ? words.troubles(number(troubles)) : undefined;
  return (
    <Card title={words.preview} text={text && <span className={styles.bad}>{text}</span>} isFull>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolled by keys */}
      <section className={styles.rows} tabIndex={0} aria-label={words.preview}>
        <table>
          <thead>
            <tr>
              <th scope="col">{words.line}</th>
              {troubles > 0 && <th scope="col">{words.reason}</th>}
              {fields.map((field) => (
                <th key={field} scope="col" className="mono">
                  {field}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {preview.rows.map(({ line, values, trouble }) => (
              <tr key={line}>
                <td>{number(line)}</td>
                {troubles > 0 && (
                  <td className={styles.bad}>{trouble && <TroubleText trouble={trouble} />}</td>
                )}
                {fields.map((field) => (
                  <td key={field}>
                    <span className={styles.cell}>{(values[field] ?? "").slice(0, LONGEST)}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  );
}

function TroubleText({ trouble }: { trouble: Trouble }) {
  const words = useTexts(transfer);
  const list = useNames();
  if (trouble.kind === "cells") return words.rowCells(trouble.found, trouble.wanted);
  if (trouble.kind === "unknown") return words.rowUnknown(list(trouble.names));
  const texts = {
    noUrl: words.rowNoUrl,
    badUrl: words.rowBadUrl,
    quotes: words.rowQuotes,
    json: words.rowJson,
  };
  return texts[trouble.kind];
}
