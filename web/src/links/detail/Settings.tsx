import { useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { Card } from "../../ui/Card";
import { Facts } from "../../ui/Facts";
import { useFormats } from "../../ui/format";
import { Meter } from "../../ui/Meter";
import { When } from "../../ui/When";
import type { Link } from "../queries";

/** Every field of a link, to read. */
export function Settings({ link }: { link: Link }) {
  const words = useTexts(texts);
  const isCached = [301, 308].includes(link.redirect_status);
  return (
    <Card title={words.settings}>
      <Facts
        look="lines"
        of={{
          [words.code]: <span className="mono">{link.short_code}</span>,
          [words.domain]: <span className="mono">{new URL(link.short_url).host}</span>,
          [words.strategy]: words[link.strategy],
          [words.redirect]: (
            <>
              {link.redirect_status} <small>{isCached ? words.permanent : words.changeable}</small>
            </>
          ),
          [words.query]: link.forward_query ? words.forwarded : words.notForwarded,
          [words.limit]: <Limit link={link} />,
          [words.start]: link.starts_at ? <When at={link.starts_at} /> : words.atOnce,
          [words.expires]: link.expires_at ? <When at={link.expires_at} /> : words.never,
          [words.type]: link.link_type === "TEMPORARY" ? words.temporary : words.lasting,
          [words.created]: <When at={link.created_at} />,
          [words.changedAt]: (
            <>
              <When at={link.updated_at} /> <small>{words.version(link.version)}</small>
            </>
          ),
          [words.id]: <span className="mono">{link.id}</span>,
        }}
      />
    </Card>
  );
}

function Limit({ link: { max_clicks: max, clicks_used: used } }: { link: Link }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  if (max === null) return words.noLimit;
  return (
    <>
      {words.used(number(used), number(max))}
      <Meter share={used / max} tone="accent" />
    </>
  );
}
