import type { ReactNode } from "react";
import { common } from "../strings/common";
import { useTexts } from "../strings/language";
import { Controls } from "../ui/Controls";
import { Mark } from "../ui/Mark";
import outside from "../ui/outside.module.css";
import { useTitle } from "../ui/title";
import styles from "./account.module.css";

/** A page before one is signed in: one heading, one form. */
export function Entrance(props: {
  title: string;
  heading: string;
  text?: string;
  children: ReactNode;
}) {
  const words = useTexts(common);
  useTitle(props.title);
  return (
    <div className={outside.page}>
      <header className={outside.header}>
        <a href="/" aria-label={words.home}>
          <Mark height={32} />
        </a>
        <nav className={styles.controls}>
          <Controls />
        </nav>
      </header>
      <main className={styles.main}>
        <h1>{props.heading}</h1>
        {props.text && <p>{props.text}</p>}
        {props.children}
      </main>
    </div>
  );
}
