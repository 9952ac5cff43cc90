import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { useFormats } from "../../ui/format";
import { Icon, type IconName } from "../../ui/Icon";
import type { Check, Link } from "../queries";
import styles from "./LinkTable.module.css";

const SIGNS: Record<Check, IconName | null> = {
  ok: "check",
  broken: "warn",
  unknown: "unclear",
  not_checked: null,
};

/** Whether the destination is still there, in a word; nothing before the first check. */
export function RowCheck({ link }: { link: Link }) {
  const words = useTexts(texts);
  const { exact } = useFormats();
  const found = link.destination_status;
  if (found === null) return null;
  const sign = SIGNS[found];
  const http = link.destination_http_status;
  const word = words[found];
  const isTelling = http !== null && found !== "ok";
  return (
    <span
      className={styles.check}
      data-check={found}
      title={
        link.last_checked_at ? words.checked(exact(new Date(link.last_checked_at))) : undefined
      }
    >
      {sign && <Icon name={sign} size={12} />}
      {isTelling ? words.checkOf(word, http) : word}
    </span>
  );
}
