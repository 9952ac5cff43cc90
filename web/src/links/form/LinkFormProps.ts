import { Problem } from "../../api/client";
import { editing as texts } from "../../strings/editing";
import { useTexts } from "../../strings/language";
import { useProblemText } from "../../strings/problems";
import type { Link } from "../queries";
import type { Fields, Name, Wrong } from "./editing";

/** What every part of the form gets. `link` null: a new one. */
export interface FormProps {
  workspaceId: number | null;
  link: Link | null;
  fields: Fields;
  change: (part: Partial<Fields>) => void;
  wrong: Wrong;
}

/** What is wrong with a field, in a sentence. */
export function useWrongText(): (wrong: Wrong[Name]) => string | undefined {
  const words = useTexts(texts);
  const problemText = useProblemText();
  return (wrong) => {
    if (wrong === undefined) return undefined;
    if (wrong === "empty") return words.urlEmpty;
    if (wrong === "number") return words.clicksShape;
    if (wrong === "alphabet") return words.aliasShape;
    if (wrong === "time") return words.timeShape;
    return wrong instanceof Problem ? problemText(wrong) : undefined;
  };
}
