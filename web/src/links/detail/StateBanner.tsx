import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { useMayEditLinks, useWorkspaceId } from "../../app/space";
import { DAY_MS } from "../../stats/period";
import { useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { useFormats, useNow } from "../../ui/format";
import { Icon, type IconName } from "../../ui/Icon";
import { toast } from "../../ui/toasts";
import type { Act } from "../acts";
import type { Link } from "../queries";
import type { Runner } from "../running";
import styles from "./StateBanner.module.css";

const MORE_DAYS = 30;
const UNLIMIT: Act = { kind: "edit", changesOf: () => ({ max_clicks: null }) };

/** Says why a link does not lead on, and how it would again. */
export function StateBanner({ link, runner }: { link: Link; runner: Runner }) {
  const words = useTexts(texts);
  const formats = useFormats();
  const now = useNow();
  const when = (at: string | null) => (at === null ? "" : formats.relative(new Date(at), now));
  const button = (label: string, act: () => void) => (
    <Button variant="default" disabled={runner.isBusy} onClick={act}>
      {label}
    </Button>
  );
  const restore = () => runner.restore([link]);
  switch (link.status) {
    case "DELETED":
      return (
        <Banner
          icon="bin"
          title={words.inTrash(when(link.deleted_at))}
          text={link.purged_at ? words.purged(when(link.purged_at)) : words.notPurged}
        >
          {button(words.restore, restore)}
        </Banner>
      );
    case "EXPIRED": {
      const expiresAt = new Date(now + MORE_DAYS * DAY_MS).toISOString();
      return (
        <Banner icon="clock" title={words.expired(when(link.expires_at))} text={words.expiredText}>
          {button(words.reviveFor(MORE_DAYS), () => runner.restore([link], expiresAt))}
          {button(words.revive, restore)}
        </Banner>
      );
    }
    case "PAUSED":
      return (
        <Banner icon="pause" title={words.paused} text={words.pausedText}>
          {button(words.resume, () => runner.resume([link]))}
        </Banner>
      );
    case "EXHAUSTED":
      return (
        <Banner
          icon="done"
          title={words.exhausted(formats.number(link.max_clicks ?? 0))}
          text={words.exhaustedText}
        >
          {button(words.unlimit, () => runner.run(UNLIMIT, [link], () => toast(words.isUnlimited)))}
        </Banner>
      );
    case "BANNED":
      return <Banner icon="stop" title={words.banned} text={words.bannedText} />;
    default:
      return link.held_at === null ? null : (
        <Banner icon="warn" title={words.held} text={words.heldText} />
      );
  }
}

function Banner(props: { icon: IconName; title: string; text: string; children?: ReactNode }) {
  const mayEdit = useMayEditLinks(useWorkspaceId());
  return (
    <section className={`panel ${styles.banner}`}>
      <Icon name={props.icon} />
      <div className={styles.text}>
        <h2>{props.title}</h2>
        <p>{props.text}</p>
      </div>
      {mayEdit && props.children && <div className={styles.acts}>{props.children}</div>}
    </section>
  );
}
