import { Button } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "../api/client";
import { forget, type Remembered, useRemembered } from "../home/remembered";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { useNow } from "../ui/format";
import { FormProblem } from "../ui/states";
import { toast } from "../ui/toasts";
import styles from "./ClaimBanner.module.css";

/** Offers to keep what was made before signing in. Nothing is claimed without a click. */
export function ClaimBanner() {
  const words = useTexts(app);
  const [isPutOff, setPutOff] = useState(false);
  const links = useRemembered(useNow());
  const queries = useQueryClient();
  const claim = useMutation({
    mutationFn: claimAll,
    onSuccess: ({ kept, failed }) => {
      if (kept > 0) toast(words.claimed(kept));
      if (failed > 0) toast(words.claimFailed(failed), { isBad: true });
      return queries.invalidateQueries({ queryKey: ["links"] });
    },
  });
  if (isPutOff || links.length === 0) return null;
  return (
    <section className={styles.banner}>
      <div>
        <h2>{words.claimTitle(links.length)}</h2>
        <p>{words.claimText(links.length)}</p>
        <FormProblem error={claim.error} />
      </div>
      <div className={styles.acts}>
        <Button variant="default" onClick={() => setPutOff(true)}>
          {words.notNow}
        </Button>
        <Button loading={claim.isPending} onClick={() => claim.mutate(links)}>
          {words.claim(links.length)}
        </Button>
      </div>
    </section>
  );
}

async function claimAll(links: readonly Remembered[]): Promise<{ kept: number; failed: number }> {
  const items = links.map(({ original_url, short_code, claim_token }) => ({
    original_url,
    short_code,
    claim_token,
  }));
  const { results } = await need(api.POST("/api/v1/claims", { body: { items } }));
  const kept = links.filter((_, index) => results[index]?.result !== "not_claimed");
  forget(kept.map((link) => link.claim_token));
  return { kept: kept.length, failed: links.length - kept.length };
}
