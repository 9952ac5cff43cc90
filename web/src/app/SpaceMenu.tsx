import { Menu } from "@mantine/core";
import { Suspense, useState } from "react";
import { useLocation } from "wouter";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { useCutText } from "../ui/CutNote";
import { Icon } from "../ui/Icon";
import { lazily } from "../ui/lazily";
import { useRestore } from "../workspaces/restoring";
import { Fence } from "./Fence";
import styles from "./SpaceMenu.module.css";
import { pathIn, useWorkspaces, type Workspace } from "./space";

const NewWorkspace = lazily(() => import("../workspaces/NewWorkspace"));

/** Where one is, the way elsewhere, and the way to a new workspace. */
export function SpaceMenu({ workspaceId }: { workspaceId: number | null }) {
  const words = useTexts(app);
  const { data = [] } = useWorkspaces();
  const [isMaking, setMaking] = useState(false);
  const here = data.find((workspace) => workspace.id === workspaceId);
  const name = workspaceId === null ? words.personal : (here?.name ?? "…");
  return (
    <>
      <Menu width={264} position="bottom-start" shadow="md">
        <Menu.Target>
          <button type="button" className={styles.target} aria-label={`${words.space}: ${name}`}>
            <span className={styles.letter} data-letter={name.slice(0, 1)} />
            <span className={`truncate ${styles.name}`}>{name}</span>
            <Icon name="down" size={16} />
          </button>
        </Menu.Target>
        <Menu.Dropdown className={styles.menu ?? ""}>
          <Spaces workspaceId={workspaceId} workspaces={data} onNew={() => setMaking(true)} />
        </Menu.Dropdown>
      </Menu>
      {isMaking && (
        <Fence>
          <Suspense>
            <NewWorkspace onClose={() => setMaking(false)} />
          </Suspense>
        </Fence>
      )}
    </>
  );
}

function Spaces(props: {
  workspaceId: number | null;
  workspaces: readonly Workspace[];
  onNew: () => void;
}) {
  const words = useTexts(app);
  const about = useTexts(texts);
  const cut = useCutText()(props.workspaces);
  const alive = props.workspaces.filter((workspace) => !workspace.deleted_at);
  const [, go] = useLocation();
  return (
    <>
      <Menu.Item
        leftSection={<Here isHere={props.workspaceId === null} />}
        onClick={() => go(pathIn(null, "/links"))}
      >
        {words.personal}
      </Menu.Item>
      {alive.length > 0 && <Menu.Divider />}
      {alive.map(({ id, name, role }) => (
        <Menu.Item
          key={id}
          leftSection={<Here isHere={props.workspaceId === id} />}
          rightSection={role && <span className={styles.role}>{about[role]}</span>}
          onClick={() => go(pathIn(id, "/links"))}
        >
          {name}
        </Menu.Item>
      ))}
      {cut && <Menu.Label>{cut}</Menu.Label>}
      <Deleted workspaces={props.workspaces} />
      <Menu.Divider />
      <Menu.Item leftSection={<Icon name="plus" size={16} />} onClick={props.onNew}>
        {about.newOne}
      </Menu.Item>
    </>
  );
}

function Here({ isHere }: { isHere: boolean }) {
  return <span className={styles.here}>{isHere && <Icon name="check" size={16} />}</span>;
}

/** Those that an owner can bring back yet. */
function Deleted({ workspaces }: { workspaces: readonly Workspace[] }) {
  const about = useTexts(texts);
  const restore = useRestore();
  const found = workspaces.filter(({ deleted_at, role }) => deleted_at && role === "owner");
  if (found.length === 0) return null;
  return (
    <>
      <Menu.Divider />
      <Menu.Label>{about.DELETED}</Menu.Label>
      {found.map(({ id, name }) => (
        <Menu.Item
          key={id}
          aria-label={about.restoreOf(name)}
          leftSection={<Icon name="bin" size={16} />}
          rightSection={<span className={styles.restore}>{about.restore}</span>}
          onClick={() => restore(id)}
        >
          {name}
        </Menu.Item>
      ))}
    </>
  );
}
