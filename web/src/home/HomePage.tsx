import { Button } from "@mantine/core";
import { baseUrl, isOpen } from "../api/server";
import { mayBeSignedIn, useMe } from "../api/session";
import { home } from "../strings/home";
import { useTexts } from "../strings/language";
import { Controls } from "../ui/Controls";
import { Mark } from "../ui/Mark";
import outside from "../ui/outside.module.css";
import { useTitle } from "../ui/title";
import styles from "./HomePage.module.css";
import { RememberedLinks } from "./RememberedLinks";
import { Result } from "./Result";
import { ShortenForm } from "./ShortenForm";
import { useShorten } from "./shorten";

export function HomePage() {
  const words = useTexts(home);
  useTitle(words.title);
  const me = useMe({ isEnabled: mayBeSignedIn() });
  const isSignedIn = mayBeSignedIn() && (Boolean(me.data) || me.isPending);
  const mayMake = isOpen || isSignedIn;
  const shorten = useShorten();
  const lead = isSignedIn ? words.leadSignedIn : words.lead;
  return (
    <div className={outside.page}>
      <header className={outside.header}>
        <Mark height={32} />
        <nav className={styles.nav}>
          <Controls />
          <Button component="a" href={isSignedIn ? "/app/links" : "/app/sign-in"} variant="default">
            {isSignedIn ? words.dashboard : words.signIn}
          </Button>
        </nav>
      </header>
      <main className={styles.main}>
        <h1>{mayMake ? words.heading : words.closedHeading}</h1>
        <p className={styles.lead}>{mayMake ? lead : words.closedLead}</p>
        {mayMake ? (
          <>
            <ShortenForm shorten={shorten} />
            {shorten.made && <Result key={shorten.made.id} link={shorten.made} />}
            {!isSignedIn && <RememberedLinks shownAbove={shorten.made?.short_url} />}
          </>
        ) : (
          <Button component="a" href="/app/sign-in" size="lg" mt={40}>
            {words.signIn}
          </Button>
        )}
      </main>
      <footer className={styles.footer}>
        {isOpen && (
          <p>
            {words.terminal} <code>curl -d https://example.com/… {baseUrl}</code>
          </p>
        )}
        <a href="/api/docs">{words.docs}</a>
      </footer>
    </div>
  );
}
