import { Button, Menu } from "@mantine/core";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { Icon } from "../ui/Icon";
import { zone } from "./period";
import { pathOf, type Report, type Subject } from "./subject";

const WHAT = ["series", "breakdowns", "events"] as const;
const FORMATS = ["csv", "json"] as const;

/** Files of what is looked at. */
export function Export({ subject, report }: { subject: Subject; report: Report | undefined }) {
  const words = useTexts(texts);
  const hrefOf = (what: string, format: string) => {
    const query = new URLSearchParams({ what, format, zone });
    if (report) {
      query.set("from", report.from);
      query.set("to", report.to);
      if (what === "series") query.set("interval", report.interval);
    }
    return `${pathOf(subject)}/export?${query}`;
  };
  return (
    <Menu position="bottom-end" shadow="md" width={232}>
      <Menu.Target>
        <Button variant="default" rightSection={<Icon name="down" size={16} />}>
          {words.export}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {WHAT.map((what) => (
          <div key={what}>
            {FORMATS.map((format) => (
              <Menu.Item key={format} component="a" href={hrefOf(what, format)} download>
                {words[`export${what}`]} · {format.toUpperCase()}
              </Menu.Item>
            ))}
          </div>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
