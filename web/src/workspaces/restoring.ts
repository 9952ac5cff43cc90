import { useMutation } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { pathIn } from "../app/space";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { useErrorText } from "../ui/states";
import { toast } from "../ui/toasts";
import { restoreWorkspace, useRenewal } from "./queries";

/** Brings a deleted workspace back, and goes there. */
export function useRestore(): (workspaceId: number) => void {
  const words = useTexts(texts);
  const textOf = useErrorText();
  const renew = useRenewal();
  const [, go] = useLocation();
  const restore = useMutation({
    mutationFn: restoreWorkspace,
    onSuccess: async ({ id, name }) => {
      await renew();
      toast(words.restored(name));
      go(pathIn(id, "/links"));
    },
    onError: (error) => toast(textOf(error), { isBad: true }),
  });
  return restore.mutate;
}
