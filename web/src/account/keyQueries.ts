import { useQuery } from "@tanstack/react-query";
import { api, need, type Schemas } from "../api/client";
import { everyPage } from "../api/pages";

export type Key = Schemas["KeyRead"];

/** The keys of the signed-in person. */
export function useKeys() {
  return useQuery({
    queryKey: ["keys"],
    queryFn: () =>
      everyPage("keys", (query) => need(api.GET("/api/v1/keys", { params: { query } }))),
  });
}
