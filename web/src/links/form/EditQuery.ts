import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { apiOf, need, Problem } from "../../api/client";
import { type Link, show } from "../queries";
import { changedBetween, editOf, type Fields, movedOver } from "./editing";

const ATTEMPTS = 5; // where somebody else goes on writing what the form does not show

/** `theirs`: somebody else was quicker, and nothing is saved yet. */
export type Outcome = { saved: Link } | { theirs: Link };

/** What is written over which state of the link. */
export interface Change {
  base: Link;
  fields: Fields;
}

/** Saves, unless somebody else has changed the link since it was shown. */
export function useSave(workspaceId: number | null) {
  const queries = useQueryClient();
  const running = useRef<Promise<Outcome>>(null); // Enter twice is still one edit
  return useMutation({
    mutationFn: (change: Change) => {
      running.current ??= save(workspaceId, change).finally(() => {
        running.current = null;
      });
      return running.current;
    },
    onSuccess: (outcome) => {
      if (!("saved" in outcome)) return;
      show(queries, workspaceId, [outcome.saved]);
      void queries.invalidateQueries({ queryKey: ["links"] });
    },
  });
}

async function save(workspaceId: number | null, change: Change): Promise<Outcome> {
  const api = apiOf(workspaceId);
  const path = { link_id: change.base.id };
  let { base, fields } = change;
  for (let attempt = 1; ; attempt++) {
    const header = { "if-match": `"${base.version}"` };
    const body = editOf(base, fields);
    try {
      const call = api.PATCH("/api/v1/links/{link_id}", { params: { path, header }, body });
      return { saved: await need(call) };
    } catch (error) {
      const isOutdated = error instanceof Problem && error.code === "version-outdated";
      if (!isOutdated || attempt === ATTEMPTS) throw error;
    }
    const theirs = await need(api.GET("/api/v1/links/{link_id}", { params: { path } }));
    // The answer to a save may have been lost: then what is there is what was typed.
    if (Object.keys(editOf(theirs, fields)).length === 0) return { saved: theirs };
    if (changedBetween(base, theirs).length > 0) return { theirs };
    fields = movedOver(base, theirs, fields);
    base = theirs;
  }
}
