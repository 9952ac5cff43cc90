import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useMe } from "../api/session";
import { pathIn, useMayEditLinks, useWorkspaceId, useWorkspaces } from "../app/place";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { useFormats } from "../ui/format";
import { PageHead } from "../ui/PageHead";
import { Empty, Loading, useErrorText } from "../ui/states";
import { useNoClosing } from "../ui/stay";
import { toast } from "../ui/toasts";
import { FileDrop } from "./FileDrop";
import { ImportPreview } from "./ImportPreview";
import { ImportResults } from "./ImportResults";
import { ImportRun } from "./ImportRun";
import { formatOf, look, type Preview } from "./read";
import { type ImportResult, Stopped, sendFile } from "./sending";
import type { Format } from "./write";

/** A file becomes links: chosen, looked at, checked, imported. */
export default function ImportPage() {
  const words = useTexts(transfer);
  const workspaceId = useWorkspaceId();
  const isKnown = useWorkspaces().isSuccess || workspaceId === null;
  const mayWrite = useMayEditLinks(workspaceId);
  return (
    <>
      <PageHead title={words.importTitle}>
        <Button component={Link} href={pathIn(workspaceId, "/links")} variant="default">
          {words.toLinks}
        </Button>
      </PageHead>
      {!isKnown ? (
        <Loading />
      ) : mayWrite ? (
        <Import key={String(workspaceId)} workspaceId={workspaceId} />
      ) : (
        <Empty icon="shield" title={words.mayNot} text={words.mayNotText} />
      )}
    </>
  );
}

interface Chosen {
  file: File;
  preview: Preview;
}

function Import({ workspaceId }: { workspaceId: number | null }) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [part, setPart] = useState(0);
  const stop = useRef<AbortController>(undefined);
  const queries = useQueryClient();
  const told = useLeftBehind();
  const maxRows = useMe().data?.import_row_limit ?? null;
  const run = useMutation({
    mutationFn: ({ file, preview, isDry }: Chosen & { isDry: boolean }) => {
      setPart(0);
      stop.current = new AbortController();
      const { signal } = stop.current;
      const { format } = preview;
      return sendFile({ workspaceId, file, format, isDry, tell: setPart, signal });
    },
    ...told,
    onSettled: () => queries.invalidateQueries({ queryKey: ["links"] }),
  });
  useNoClosing(run.isPending);
  const choose = async (file: File | null, format?: Format) => {
    run.reset();
    setChosen(file && { file, preview: await look(file, format ?? formatOf(file.name)) });
  };
  if (chosen === null) {
    return <FileDrop maxRows={maxRows} onChoose={(file) => void choose(file)} />;
  }
  const { file, preview } = chosen;
  const isTooLarge = maxRows !== null && preview.count > maxRows;
  const start = (isDry: boolean) => run.mutate({ file, preview, isDry });
  return (
    <>
      <ImportPreview
        file={file}
        preview={preview}
        maxRows={isTooLarge ? maxRows : null}
        isFolded={run.isPending || run.isSuccess}
        onFormat={(format) => void choose(file, format)}
        onOther={() => void choose(null)}
      />
      {run.isSuccess ? (
        <ImportResults
          file={file}
          format={preview.format}
          result={run.data}
          workspaceId={workspaceId}
          onImport={() => start(false)}
          onOther={() => void choose(null)}
        />
      ) : (
        <ImportRun
          part={run.isPending ? part : null}
          isDry={run.variables?.isDry ?? false}
          isRefused={isTooLarge || preview.faults.some(({ kind }) => kind !== "notText")}
          error={run.error}
          onStart={start}
          onStop={() => stop.current?.abort()}
        />
      )}
    </>
  );
}

/** Whoever has gone to another page meanwhile is told there what came of it. */
function useLeftBehind() {
  const words = useTexts(transfer);
  const { number } = useFormats();
  const textOf = useErrorText();
  const isHere = useRef(true);
  useEffect(() => {
    isHere.current = true;
    return () => {
      isHere.current = false;
    };
  }, []);
  return {
    onSuccess: ({ isDry, created, existed, conflict, refused }: ImportResult) => {
      if (isHere.current || isDry) return;
      const out = conflict + refused;
      const text = words.leftDone(number(created), number(existed), number(out));
      toast(text, { isBad: out > 0 });
    },
    onError: (error: unknown) => {
      const isWanted = error instanceof Stopped;
      if (!isHere.current && !isWanted) toast(words.leftFailed(textOf(error)), { isBad: true });
    },
  };
}
