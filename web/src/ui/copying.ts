import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { toast } from "./toasts";

/** Copies a text and says so. */
export function useCopy(): (text: string) => Promise<boolean> {
  const words = useTexts(common);
  return async (text) => {
    const isCopied = await copy(text);
    toast(isCopied ? words.copied : words.copyFailed, { isBad: !isCopied });
    return isCopied;
  };
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Where pages come without TLS, browsers have no clipboard for scripts but this. */
function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  const focused = document.activeElement;
  field.value = text;
  field.readOnly = true;
  field.className = "unseen";
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
