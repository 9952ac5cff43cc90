import { Checkbox, Radio } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { apiOf, need } from "../api/client";
import type { FilterState } from "../links/list/filter";
import { type Filter, type Link, queryOf } from "../links/queries";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { Dialog } from "../ui/Dialog";
import { DialogActs } from "../ui/DialogActs";
import { useFormats } from "../ui/format";
import { save } from "../ui/saving";
import { FormProblem } from "../ui/states";
import { toast } from "../ui/toasts";
import type { Format } from "./sending";
import styles from "./transfer.module.css";

const MOST_IDS = 1000; // in one request

interface Props {
  workspaceId: number | null;
  state: FilterState;
  selected: readonly Link[];
  onClose: () => void;
}

type Which = "selected" | "fitting" | "all";

/** Links as a file: the selected ones, those that fit the filter, or all. */
export function ExportDialog({ workspaceId, state, selected, onClose }: Props) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const [which, setWhich] = useState<Which>(
    selected.length > 0 ? "selected" : state.isFiltered ? "fitting" : "all",
  );
  const [format, setFormat] = useState<Format>("csv");
  const [withTrash, setWithTrash] = useState(false);
  const run = useExport(workspaceId, state.filter, selected, onClose);
  return (
    <Dialog onClose={onClose} title={words.exportTitle}>
      <Choice label={words.which} value={which} onChange={(value) => setWhich(value as Which)}>
        {selected.length > 0 && (
          <Radio
            value="selected"
            data-autofocus={which === "selected" || undefined}
            label={words.selected(number(selected.length))}
          />
        )}
        {state.isFiltered && (
          <Radio
            value="fitting"
            data-autofocus={which === "fitting" || undefined}
            label={words.fitting}
          />
        )}
        <Radio value="all" data-autofocus={which === "all" || undefined} label={words.all} />
        {which === "all" && (
          <Checkbox
            ml={28}
            label={words.withTrash}
            checked={withTrash}
            onChange={(event) => setWithTrash(event.currentTarget.checked)}
          />
        )}
      </Choice>
      <Choice label={words.format} value={format} onChange={(value) => setFormat(value as Format)}>
        <Radio value="csv" label={words.csv} />
        <Radio value="jsonl" label={words.jsonl} />
      </Choice>
      <FormProblem error={run.error} />
      <DialogActs
        verb={words.download}
        act={() => run.mutate({ which, format, withTrash })}
        isBusy={run.isPending}
        onClose={onClose}
      />
    </Dialog>
  );
}

function Choice(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  children: React.ReactNode;
}) {
  return (
    <Radio.Group
      label={props.label}
      value={props.value}
      onChange={props.onChange}
      className={styles.choice ?? ""}
    >
      <div className={styles.choices}>{props.children}</div>
    </Radio.Group>
  );
}

interface Order {
  which: Which;
  format: Format;
  withTrash: boolean;
}

/** All links, and those that fit, flow from the server to the disk; the selected ones are asked for. */
function useExport(
  workspaceId: number | null,
  filter: Filter,
  selected: readonly Link[],
  onClose: () => void,
) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  return useMutation({
    mutationFn: async ({ which, format, withTrash }: Order) => {
      if (which === "selected") {
        const ids = selected.map(({ id }) => id);
        save(await fileOf(workspaceId, ids, format), `kurz-links.${format}`);
        toast(words.exported(number(ids.length)));
      } else {
        const query = which === "all" ? { with_trash: withTrash } : queryOf(filter);
        download(workspaceId, { format, ...query });
      }
    },
    onSuccess: onClose,
  });
}

/** Chosen links, as many at once as the server takes. */
async function fileOf(
  workspaceId: number | null,
  ids: readonly number[],
  format: Format,
): Promise<Blob> {
  const parts: string[] = [];
  for (let at = 0; at < ids.length; at += MOST_IDS) {
    const text = await need(
      apiOf(workspaceId).POST("/api/v1/links/export", {
        params: { query: { format } },
        body: { ids: ids.slice(at, at + MOST_IDS) },
        parseAs: "text",
      }),
    );
    const isHeadTwice = at > 0 && format === "csv";
    parts.push(isHeadTwice ? text.slice(text.indexOf("\n") + 1) : text);
  }
  return new Blob(parts, { type: format === "csv" ? "text/csv" : "application/jsonl" });
}

function download(workspaceId: number | null, query: object): void {
  const place = workspaceId === null ? "" : `/workspaces/${workspaceId}`;
  const anchor = document.createElement("a");
  anchor.href = `/api/v1${place}/links/export?${new URLSearchParams(Object.entries(query))}`;
  anchor.download = "";
  anchor.click();
}
