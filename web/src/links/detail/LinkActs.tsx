import { Button, Menu } from "@mantine/core";
import { useState } from "react";
import { useMayEditLinks } from "../../app/space";
import { useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { Icon } from "../../ui/Icon";
import { EditDialog } from "../form/EditDialog";
import { type Link, mayPause } from "../queries";
import type { Runner } from "../running";
import { useWhich } from "./queries";

interface Props {
  link: Link;
  runner: Runner;
}

/** What can be done with the link. Who may only look sees nothing. */
export function LinkActs({ link, runner }: Props) {
  const words = useTexts(texts);
  const { workspaceId } = useWhich();
  const mayEdit = useMayEditLinks(workspaceId);
  const [isEditing, setEditing] = useState(false);
  // What was deleted is restored by the banner.
  const isOver = link.status === "BANNED" || link.status === "DELETED";
  return (
    <>
      {mayEdit && !isOver && (
        <>
          <Button leftSection={<Icon name="edit" size={18} />} onClick={() => setEditing(true)}>
            {words.edit}
          </Button>
          <More link={link} runner={runner} />
        </>
      )}
      {/* Whatever becomes of the link, what is typed stays. */}
      {isEditing && (
        <EditDialog link={link} workspaceId={workspaceId} onClose={() => setEditing(false)} />
      )}
    </>
  );
}

function More({ link, runner }: Props) {
  const words = useTexts(texts);
  return (
    <Menu position="bottom-end" shadow="md" width={200}>
      <Menu.Target>
        <Button
          variant="default"
          loading={runner.isBusy}
          rightSection={<Icon name="down" size={16} />}
        >
          {words.acts}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {link.status === "PAUSED" && (
          <Menu.Item
            leftSection={<Icon name="play" size={18} />}
            onClick={() => runner.resume([link])}
          >
            {words.resume}
          </Menu.Item>
        )}
        {mayPause(link) && (
          <Menu.Item
            leftSection={<Icon name="pause" size={18} />}
            onClick={() => runner.pause([link])}
          >
            {words.pause}
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={<Icon name="bin" size={18} />}
          onClick={() => runner.remove([link])}
        >
          {words.delete}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
