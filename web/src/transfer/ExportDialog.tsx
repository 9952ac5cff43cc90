import { Button, Checkbox, Radio } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useWorkspaces } from "../app/place";
import type { FilterState } from "../links/filter";
import { type Filter, getPage, LARGEST_PAGE, type Link } from "../links/queries";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { Dialog } from "../ui/Dialog";
import { useFormats } from "../ui/format";
import { save } from "../ui/saving";
import { FormProblem } from "../ui/states";
import { toast } from "../ui/toasts";
import styles from "./transfer.module.css";
import { type Format, fileOf } from "./write";

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
  const { cancel } = useTexts(common);
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
      <div className={styles.acts}>
        {run.isPending && <span>{words.gathering(number(run.count))}</span>}
        <Button variant="default" onClick={onClose}>
          {cancel}
        </Button>
        <Button loading={run.isPending} onClick={() => run.mutate({ which, format, withTrash })}>
          {words.download}
        </Button>
      </div>
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

function useExport(
  workspaceId: number | null,
  filter: Filter,
  selected: readonly Link[],
  onClose: () => void,
) {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const [count, setCount] = useState(0);
  const stop = useRef(new AbortController());
  const slug = useWorkspaces().data?.find(({ id }) => id === workspaceId)?.slug ?? "";
  useEffect(() => {
    const running = new AbortController();
    stop.current = running;
    return () => running.abort();
  }, []);
  const run = useMutation({
    mutationFn: async ({ which, format, withTrash }: Order) => {
      if (which === "all") {
        download(workspaceId, format, withTrash);
        return null;
      }
      const links =
        which === "selected"
          ? selected
          : await gather(workspaceId, filter, setCount, stop.current.signal);
      save(fileOf(links, format, slug), `kurz-links.${format}`);
      return links.length;
    },
    onSuccess: (found) => {
      if (found !== null) toast(words.exported(number(found)));
      onClose();
    },
  });
  return Object.assign(run, { count });
}

/** All pages of a filter, oldest first, as exports are. */
async function gather(
  workspaceId: number | null,
  filter: Filter,
  tell: (count: number) => void,
  signal: AbortSignal,
): Promise<Link[]> {
  const found: Link[] = [];
  const wanted: Filter = { ...filter, sort: "created_at" };
  let cursor: string | null = null;
  do {
    const page = await getPage(workspaceId, wanted, cursor, signal, LARGEST_PAGE);
    for (const link of page.links) found.push(link);
    tell(found.length);
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

/** The server's own file, which flows to the disk. */
function download(workspaceId: number | null, format: Format, withTrash: boolean): void {
  const place = workspaceId === null ? "" : `/workspaces/${workspaceId}`;
  const anchor = document.createElement("a");
  anchor.href = `/api/v1${place}/links/export?format=${format}&with_trash=${withTrash}`;
  anchor.download = "";
  anchor.click();
}
