import { Drawer } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { useLocation, useRoute } from "wouter";
import type { Me } from "../api/session";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { useKeptFocus } from "../ui/focus";
import { IconButton } from "../ui/IconButton";
import { Mark } from "../ui/Mark";
import { Failed } from "../ui/states";
import { ClaimBanner } from "./ClaimBanner";
import { Navigation } from "./Navigation";
import type { Page } from "./pages";
import { SessionEnd } from "./SessionEnd";
import styles from "./Shell.module.css";
import { useWorkspaces } from "./space";

/** What stands around every page of somebody who is signed in. */
export function Shell(props: { me: Me; pages: readonly Page[]; children: ReactNode }) {
  const words = useTexts(app);
  const [isOpen, setOpen] = useState(false);
  const [path] = useLocation();
  useKeptFocus();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closed by going anywhere
  useEffect(() => setOpen(false), [path]);
  const navigation = <Navigation me={props.me} pages={props.pages} />;
  return (
    <div className={styles.shell}>
      <a href="#content" className={styles.skip}>
        {words.skip}
      </a>
      <header className={styles.bar}>
        <IconButton
          icon="menu"
          size={44}
          label={words.openNavigation}
          isExpanded={isOpen}
          onClick={() => setOpen(true)}
        />
        <a href="/" className={styles.mark}>
          <Mark height={24} />
        </a>
      </header>
      <aside className={styles.side}>
        <a href="/" className={styles.mark}>
          <Mark height={26} />
        </a>
        {navigation}
      </aside>
      <Drawer
        opened={isOpen}
        onClose={() => setOpen(false)}
        size={288}
        title={<Mark height={24} />}
        classNames={{ body: styles.drawer ?? "" }}
      >
        {navigation}
      </Drawer>
      <main id="content" className={styles.main} tabIndex={-1}>
        <ClaimBanner />
        <SpaceContent>{props.children}</SpaceContent>
      </main>
      <SessionEnd email={props.me.email} />
    </div>
  );
}

/** A page in a workspace, if it is known what one may do there. */
function SpaceContent({ children }: { children: ReactNode }) {
  const [isInWorkspace] = useRoute("/w/:workspace/*?");
  const workspaces = useWorkspaces();
  if (!isInWorkspace || !workspaces.isLoadingError) return children;
  return <Failed error={workspaces.error} retry={workspaces.refetch} />;
}
