import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { apiOf, need, newIdempotencyKey } from "../../api/client";
import type { Link } from "../queries";
import { createOf, type Fields } from "./editing";

/** `isNew` false: the address had this link already. */
export interface Made {
  link: Link;
  isNew: boolean;
}

/** Makes a link. The same fields sent again after a failure make the same link, not a second one. */
export function useMake(workspaceId: number | null) {
  const queries = useQueryClient();
  const last = useRef({ body: "", key: "" });
  const running = useRef<Promise<Made>>(null); // Enter twice is still one link
  return useMutation({
    mutationFn: (fields: Fields) => {
      const body = JSON.stringify(createOf(fields));
      if (last.current.body !== body) last.current = { body, key: newIdempotencyKey() };
      const { key } = last.current;
      running.current ??= make(workspaceId, fields, key).finally(() => {
        running.current = null;
      });
      return running.current;
    },
    onSuccess: () => {
      last.current = { body: "", key: "" };
      void queries.invalidateQueries({ queryKey: ["links"] });
    },
  });
}

async function make(workspaceId: number | null, fields: Fields, key: string): Promise<Made> {
  const api = apiOf(workspaceId);
  const call = api.POST("/api/v1/links", {
    body: createOf(fields),
    headers: { "idempotency-key": key },
  });
  const link = await need(call);
  const isNew = (await call).response.status === 201;
  if (!isNew || fields.expiry.kind !== "never" || link.expires_at === null) return { link, isNew };
  // Links end by themselves here, and a create cannot say that this one does not.
  const params = { path: { link_id: link.id }, header: { "if-match": `"${link.version}"` } };
  const body = { expires_at: null };
  return { link: await need(api.PATCH("/api/v1/links/{link_id}", { params, body })), isNew };
}
