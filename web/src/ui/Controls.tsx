import { ActionIcon, useMantineColorScheme } from "@mantine/core";
import { common } from "../strings/common";
import { choose, LANGUAGES, useLanguage, useTexts } from "../strings/language";
import styles from "./Controls.module.css";
import { IconButton } from "./IconButton";

const NEXT = { auto: "light", light: "dark", dark: "auto" } as const;
const SIGNS = { auto: "half", light: "sun", dark: "moon" } as const;

/** Colours as the system, light or dark, one after the other; and the other language. */
export function Controls() {
  const words = useTexts(common);
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const language = useLanguage();
  const other = language === "en" ? "de" : "en";
  return (
    <>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={40}
        className={styles.control ?? ""}
        lang={other}
        title={LANGUAGES[other]}
        aria-label={`${other.toUpperCase()} ${LANGUAGES[other]}`}
        onClick={() => choose(other)}
      >
        {other.toUpperCase()}
      </ActionIcon>
      <IconButton
        icon={SIGNS[colorScheme]}
        size={40}
        label={`${words.colours}: ${words[colorScheme]}`}
        onClick={() => setColorScheme(NEXT[colorScheme])}
      />
    </>
  );
}
