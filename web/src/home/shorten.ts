import { type UseMutationResult, useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, need, newIdempotencyKey, Problem, type Schemas } from "../api/client";
import { completed } from "../ui/urls";
import { remember } from "./remembered";

export type NewLink = Schemas["NewLinkRead"];
/** `made` is the last link there was, also while the next one is under way or refused. */
export type Shorten = UseMutationResult<NewLink, Error, string> & { made: NewLink | undefined };

/** Makes a link. The same text sent again after a failure makes the same link, not a second one. */
export function useShorten(): Shorten {
  const last = useRef({ text: "", key: "" });
  const [made, setMade] = useState<NewLink>();
  const mutation = useMutation({
    mutationFn: async (text: string) => {
      if (last.current.text !== text) last.current = { text, key: newIdempotencyKey() };
      return make(completed(text), last.current.key);
    },
    onSuccess: (link) => {
      last.current = { text: "", key: "" };
      remember(link);
      setMade(link);
    },
  });
  return { ...mutation, made };
}

async function make(original_url: string, key: string): Promise<NewLink> {
  const call = (credentials: RequestCredentials) =>
    need(
      api.POST("/api/v1/links", {
        body: { original_url },
        headers: { "idempotency-key": key },
        credentials,
      }),
    );
  try {
    return await call("same-origin");
  } catch (error) {
    // The cookie of a session that was ended elsewhere: no script can take it away.
    if (error instanceof Problem && error.code === "credential-refused") return call("omit");
    throw error;
  }
}

/** Whether a pasted text is an address and nothing else. */
export function isAddress(text: string): boolean {
  const address = completed(text);
  return /^https?:\/\/[^\s]+$/i.test(address) && URL.canParse(address);
}
