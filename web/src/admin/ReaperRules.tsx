import { reaper as texts } from "../strings/adminReaper";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { useFormats } from "../ui/format";
import table from "../ui/table.module.css";
import type { Reaper } from "./queries";
import { useUnits } from "./units";

/** What becomes of which links, and when. */
export function ReaperRules({ reaper }: { reaper: Reaper }) {
  const words = useTexts(texts);
  return (
    <Card title={words.rules} text={<Preset reaper={reaper} />} isFull>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.kind}</th>
            <th scope="col">{words.fate}</th>
            <th scope="col">{words.after}</th>
            <th scope="col" className={table.number}>
              {words.now}
            </th>
          </tr>
        </thead>
        <tbody>
          {reaper.rules.map((rule) => (
            <RuleRow key={rule.ended} rule={rule} />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function RuleRow({ rule }: { rule: Reaper["rules"][number] }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { span } = useUnits();
  const after = rule.after_seconds;
  const stays = after === null || rule.waiting === null;
  return (
    <tr>
      <td>{words[rule.ended]}</td>
      <td>{stays ? words.stays : words[rule.fate]}</td>
      <td className={table.dim} data-label={after && !stays ? words.after : undefined}>
        {stays ? words.forEver : after ? span(after) : words.atOnce}
      </td>
      <td className={table.number} data-label={words.now}>
        {rule.waiting === null ? "–" : number(rule.waiting)}
      </td>
    </tr>
  );
}

function Preset({ reaper }: { reaper: Reaper }) {
  const words = useTexts(texts);
  const sentences: Record<string, unknown> = words;
  const parts = [sentences[`preset_${reaper.preset}`] ?? reaper.preset];
  if (reaper.is_preset_changed) parts.push(words.changed);
  const wantsArchive = reaper.rules.some((rule) => rule.fate === "archive");
  if (wantsArchive && !reaper.has_archive) parts.push(words.noArchive);
  return parts.join(" ");
}
