import { type ReactNode, useEffect, useRef } from "react";
import { Link, useRoute } from "wouter";
import { admin } from "../strings/admin";
import { useTexts } from "../strings/language";
import { useFormats } from "../ui/format";
import { PageHead } from "../ui/PageHead";
import { useTitle } from "../ui/title";
import styles from "./AdminFrame.module.css";
import { useOpenReports } from "./queries";

const PAGES = [
  { path: "/admin", label: "system" },
  { path: "/admin/people", label: "people" },
  { path: "/admin/reaper", label: "reaper" },
  { path: "/admin/reports", label: "reports" },
  { path: "/admin/audit", label: "audit" },
] as const;

type Label = (typeof PAGES)[number]["label"];

/** What stands around every page of the administration: the way to the others. */
export function AdminFrame(props: { page: Label; acts?: ReactNode; children: ReactNode }) {
  const words = useTexts(admin);
  return (
    <>
      <PageHead title={words.title}>{props.acts}</PageHead>
      <nav ref={useTabInSight()} className={styles.tabs} aria-label={words.pages}>
        {PAGES.map(({ path, label }) => (
          <Tab key={path} path={path} label={label} />
        ))}
      </nav>
      <TabTitle title={words[props.page]} />
      {props.children}
    </>
  );
}

/** Tabs that are wider than the screen show the one of this page, also when their width changes:
 *  by a count that comes later, by another language, by turning a phone. */
function useTabInSight() {
  const tabs = useRef<HTMLElement>(null);
  useEffect(() => {
    const nav = tabs.current;
    if (nav === null) return;
    const sizes = new ResizeObserver(() => {
      const tab = nav.querySelector<HTMLElement>("[aria-current]");
      if (tab) nav.scrollLeft = tab.offsetLeft - (nav.clientWidth - tab.offsetWidth) / 2;
    });
    for (const part of [nav, ...nav.children]) sizes.observe(part);
    return () => sizes.disconnect();
  }, []);
  return tabs;
}

/** After the frame's own, which all of its pages have in common. */
function TabTitle({ title }: { title: string }) {
  useTitle(title);
  return null;
}

function Tab({ path, label }: { path: string; label: Label }) {
  const words = useTexts(admin);
  const { number } = useFormats();
  const [isHere] = useRoute(path);
  const open = useOpenReports();
  return (
    <Link href={path} className={styles.tab ?? ""} aria-current={isHere ? "page" : undefined}>
      {words[label]}
      {label === "reports" && Boolean(open.data) && (
        <span className={styles.count} title={words.openReports(number(open.data ?? 0))}>
          {number(open.data ?? 0)}
        </span>
      )}
    </Link>
  );
}
