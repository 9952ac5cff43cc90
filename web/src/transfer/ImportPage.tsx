import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useMe } from "../api/session";
import { pathIn, useMayEditLinks, useWorkspaceId, useWorkspaces } from "../app/space";
import { useTexts } from "../strings/language";
import { transfer } from "../strings/transfer";
import { useFormats } from "../ui/format";
import { PageHead } from "../ui/PageHead";
import { Empty, Loading, useErrorText } from "../ui/states";
import { useNoClosing } from "../ui/stay";
import { toast } from "../ui/toasts";
import { FileDrop } from "./FileDrop";
import { ImportFile } from "./ImportFile";
import { ImportResults } from "./ImportResults";
import { ImportRun } from "./ImportRun";
import { type Format, formatOf, type ImportResult, Stopped, sendFile } from "./sending";

/** A file becomes links: chosen, checked by the server, imported. */
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
  format: Format;
}

function Import({ workspaceId }: { workspaceId: number | null }) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [part, setPart] = useState(0);
  const stop = useRef<AbortController>(undefined);
  const queries = useQueryClient();
  const told = useLeftBehind();
  const maxRows = useMe().data?.import_row_limit ?? null;
  const run = useMutation({
    mutationFn: (order: Chosen & { isDry: boolean }) => {
      setPart(0);
      stop.current = new AbortController();
      return sendFile({ workspaceId, ...order, tell: setPart, signal: stop.current.signal });
    },
    ...told,
    onSettled: () => queries.invalidateQueries({ queryKey: ["links"] }),
  });
  useNoClosing(run.isPending);
  const choose = (next: Chosen) => {
    setChosen(next);
    run.mutate({ ...next, isDry: true });
  };
  const leave = () => {
    run.reset();
    setChosen(null);
  };
  if (chosen === null) {
    const check = (file: File) => choose({ file, format: formatOf(file.name) });
    return <FileDrop maxRows={maxRows} onChoose={check} />;
  }
  const start = (isDry: boolean) => run.mutate({ ...chosen, isDry });
  return (
    <>
      <ImportFile
        {...chosen}
        rows={run.data?.rows ?? null}
        isFree={!run.isPending && run.data?.isDry !== false}
        onFormat={(format) => choose({ ...chosen, format })}
        onOther={leave}
      />
      {run.isSuccess ? (
        <ImportResults
          {...chosen}
          result={run.data}
          workspaceId={workspaceId}
          onImport={() => start(false)}
          onOther={leave}
        />
      ) : (
        <ImportRun
          part={run.isPending ? part : null}
          isDry={run.variables?.isDry ?? true}
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
