import { ActionIcon, Menu } from "@mantine/core";
import { useLocation } from "wouter";
import { useTexts } from "../strings/language";
import { links as texts } from "../strings/links";
import { useCopy } from "../ui/copying";
import { Icon, type IconName } from "../ui/Icon";
import styles from "./LinkTable.module.css";
import type { Link } from "./queries";
import type { RowActs } from "./Row";

/** All that can be done with a link. */
export function RowMenu({ link, path, acts }: { link: Link; path: string; acts: RowActs }) {
  const words = useTexts(texts);
  const copy = useCopy();
  const [, go] = useLocation();
  const item = (icon: IconName, label: string, run: ((link: Link) => void) | undefined) =>
    run && (
      <Menu.Item leftSection={<Icon name={icon} size={16} />} onClick={() => run(link)}>
        {label}
      </Menu.Item>
    );
  return (
    <Menu position="bottom-end" shadow="md" width={208}>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size={36}
          className={styles.more ?? ""}
          aria-label={words.moreOf(link.short_code)}
          title={words.more}
        >
          <Icon name="more" size={18} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {item("chart", words.details, () => go(path))}
        {item("copy", words.copy, () => void copy(link.short_url))}
        {item("qr", words.qr, acts.onQr)}
        {link.status !== "BANNED" && item("edit", words.edit, acts.onEdit)}
        {mayPause(link) && item("pause", words.pause, acts.onPause)}
        {link.status === "PAUSED" && item("play", words.resume, acts.onResume)}
        {link.status === "EXPIRED" && item("restore", words.revive, acts.onRevive)}
        {acts.onDelete && link.status !== "BANNED" && (
          <>
            <Menu.Divider />
            {item("bin", words.delete, acts.onDelete)}
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

/** What has ended answers nobody already. */
export function mayPause({ status }: Link): boolean {
  return status === "ACTIVE";
}
