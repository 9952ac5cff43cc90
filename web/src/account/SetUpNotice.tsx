import { needsSetUp } from "../api/server";
import { account } from "../strings/account";
import { useTexts } from "../strings/language";
import styles from "./account.module.css";

const COMMAND = "kurz admin setup-link";

/** Where the set-up link is, while there is no administrator. */
export function SetUpNotice() {
  const words = useTexts(account);
  if (!needsSetUp) return null;
  return (
    <aside className={`panel ${styles.notice}`}>
      <h2>{words.setUp}</h2>
      <p>{words.setUpText}</p>
      <code>{COMMAND}</code>
    </aside>
  );
}
