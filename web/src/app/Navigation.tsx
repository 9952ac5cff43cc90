import { useQueryClient } from "@tanstack/react-query";
import { Link, useRoute } from "wouter";
import { type Me, signOut } from "../api/session";
import { app } from "../strings/app";
import { useTexts } from "../strings/language";
import { Controls } from "../ui/Controls";
import { Icon } from "../ui/Icon";
import { useErrorText } from "../ui/states";
import { toast } from "../ui/toasts";
import styles from "./Navigation.module.css";
import type { Group, Page } from "./pages";
import { SpaceMenu } from "./SpaceMenu";
import { pathIn } from "./space";

const GROUPS: readonly Group[] = ["links", "workspace", "account", "admin"];

/** The list of pages: the place's own first, then one's own, then the installation's. */
export function Navigation({ me, pages }: { me: Me; pages: readonly Page[] }) {
  const words = useTexts(app);
  const [isInWorkspace, params] = useRoute("/w/:workspace/*?");
  const workspaceId = isInWorkspace ? Number(params.workspace) : null;
  const shown = pages.filter((page) => !page.isOfWorkspace || workspaceId !== null);
  return (
    <>
      <SpaceMenu workspaceId={workspaceId} />
      <nav aria-label={words.navigation} className={styles.nav}>
        {GROUPS.map((group) => (
          <ul key={group}>
            {shown.map((page) =>
              page.nav?.group === group ? (
                <Item key={page.path} page={page} nav={page.nav} workspaceId={workspaceId} />
              ) : null,
            )}
          </ul>
        ))}
      </nav>
      <Foot email={me.email} />
    </>
  );
}

function Item(props: { page: Page; nav: NonNullable<Page["nav"]>; workspaceId: number | null }) {
  const words = useTexts(app);
  const path = props.page.isOfSpace ? pathIn(props.workspaceId, props.page.path) : props.page.path;
  const [isHere] = useRoute(`${path}/*?`);
  return (
    <li>
      <Link href={path} className={styles.item ?? ""} aria-current={isHere ? "page" : undefined}>
        <Icon name={props.nav.icon} />
        {words[props.nav.label] as string}
      </Link>
    </li>
  );
}

function Foot({ email }: { email: string }) {
  const words = useTexts(app);
  const textOf = useErrorText();
  const queries = useQueryClient();
  const leave = () =>
    signOut(queries).then(
      () => location.assign("/"),
      (error) => toast(textOf(error), { isBad: true }),
    );
  return (
    <div className={styles.foot}>
      <span className={styles.email} title={email}>
        {email}
      </span>
      <div className={styles.controls}>
        <button type="button" className={styles.item} onClick={leave}>
          <Icon name="out" />
          {words.signOut}
        </button>
        <Controls />
      </div>
    </div>
  );
}
