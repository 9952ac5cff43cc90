import { ActionIcon, Menu } from "@mantine/core";
import { useLocation } from "wouter";
import { pathIn } from "../../app/space";
import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { Icon } from "../../ui/Icon";

interface Props {
  workspaceId: number | null;
  mayWrite: boolean;
  onExport: () => void;
  onKeys: () => void;
}

/** What is done with all links, not with one. */
export function LinksMenu({ workspaceId, mayWrite, onExport, onKeys }: Props) {
  const words = useTexts(texts);
  const [, go] = useLocation();
  return (
    <Menu position="bottom-end" shadow="md" width={200}>
      <Menu.Target>
        <ActionIcon variant="default" size={36} aria-label={words.more} title={words.more}>
          <Icon name="more" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {mayWrite && (
          <Menu.Item
            leftSection={<Icon name="upload" size={16} />}
            onClick={() => go(pathIn(workspaceId, "/import"))}
          >
            {words.import}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<Icon name="download" size={16} />} onClick={onExport}>
          {words.export}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="keyboard" size={16} />} onClick={onKeys}>
          {words.keys}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
