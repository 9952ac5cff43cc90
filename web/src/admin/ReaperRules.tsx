import { reaper as texts } from "../strings/adminReaper";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { type Column, DataTable } from "../ui/DataTable";
import { useFormats } from "../ui/format";
import type { Reaper } from "./queries";
import { useUnits } from "./units";

type Rule = Reaper["rules"][number];

/** What becomes of which links, and when. */
export function ReaperRules({ reaper }: { reaper: Reaper }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { span } = useUnits();
  const stays = (rule: Rule) => rule.after_seconds === null || rule.waiting === null;
  const columns: Column<Rule>[] = [
    { head: words.kind, cell: (rule) => words[rule.ended] },
    { head: words.action, cell: (rule) => (stays(rule) ? words.stays : words[rule.action]) },
    {
      head: words.after,
      kind: "dim",
      label: (rule) => (rule.after_seconds && !stays(rule) ? words.after : undefined),
      cell: (rule) => {
        if (stays(rule)) return "–";
        return rule.after_seconds ? span(rule.after_seconds) : words.atOnce;
      },
    },
    {
      head: words.now,
      kind: "number",
      label: true,
      cell: ({ waiting }) => (waiting === null ? "–" : number(waiting)),
    },
  ];
  return (
    <Card title={words.rules} text={<Preset reaper={reaper} />} isFull>
      <DataTable columns={columns} rows={reaper.rules} keyOf={(rule) => rule.ended} />
    </Card>
  );
}

function Preset({ reaper }: { reaper: Reaper }) {
  const words = useTexts(texts);
  const sentences: Record<string, unknown> = words;
  const parts = [sentences[`preset_${reaper.preset}`] ?? reaper.preset];
  if (reaper.is_preset_changed) parts.push(words.changed);
  const wantsArchive = reaper.rules.some((rule) => rule.action === "archive");
  if (wantsArchive && !reaper.has_archive) parts.push(words.noArchive);
  return parts.join(" ");
}
