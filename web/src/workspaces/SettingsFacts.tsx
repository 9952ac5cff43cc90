import { baseUrl } from "../api/server";
import type { Workspace } from "../app/space";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Card } from "../ui/Card";
import { Facts } from "../ui/Facts";
import { bare } from "../ui/urls";
import type { Strategy } from "./StrategyChoice";

/** The same for members who may only look. */
export function SettingsFacts({ workspace }: { workspace: Workspace }) {
  const words = useTexts(texts);
  const strategy = workspace.strategy as Strategy;
  return (
    <Card title={workspace.name} text={words.readOnly(words[`as${workspace.role ?? "viewer"}`])}>
      <Facts
        look="columns"
        of={{
          [words.linksStand]: (
            <span className="mono">
              {bare(baseUrl)}/@{workspace.slug}/
            </span>
          ),
          [words.strategy]: (
            <>
              {words[strategy]}
              <p>{words[`${strategy}Text`]}</p>
            </>
          ),
          [words.expiry]: <Life days={workspace.default_expiry_days} />,
        }}
      />
    </Card>
  );
}

function Life({ days }: { days: number | null }) {
  const words = useTexts(texts);
  const spans = useTexts(common);
  if (days === null) return words.expiryServer;
  return days === 0 ? words.never : words.expiryAfter(spans.days(days));
}
