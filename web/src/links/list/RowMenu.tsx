import { Menu } from "@mantine/core";
import { useLocation } from "wouter";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { useCopy } from "../../ui/copying";
import { Icon, type IconName } from "../../ui/Icon";
import { IconButton } from "../../ui/IconButton";
import { type Link, mayPause } from "../queries";

/** What a row asks the page for. Those that are missing are not for this reader. */
export interface RowActs {
  onTag: (tag: string) => void;
  onQr: (link: Link) => void;
  onEdit?: (link: Link) => void;
  onPause?: (link: Link) => void;
  onResume?: (link: Link) => void;
  onRevive?: (link: Link) => void;
  onDelete?: (link: Link) => void;
}

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
        <IconButton icon="more" label={words.moreOf(link.short_code)} />
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
