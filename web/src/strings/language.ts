import { useSyncExternalStore } from "react";
import * as storage from "../api/storage";

export type Language = "en" | "de";
export const LANGUAGES: Record<Language, string> = { en: "English", de: "Deutsch" };

export type Text = string | ((...values: never[]) => string);
/** The same names in every language; texts with values in them are functions. */
export type Same<T> = {
  [K in keyof T]: T[K] extends (...values: infer V) => string ? (...values: V) => string : string;
};

/** An area's texts. Each language is written for itself, not translated word for word. */
export function texts<T extends Record<string, Text>>(of: { en: T; de: Same<T> }): Texts<Same<T>> {
  return of as { en: unknown; de: Same<T> } as Texts<Same<T>>;
}
export type Texts<T> = Record<Language, T>;

/** Texts, together with those of `base`. Where both have a name, the new one wins. */
export function extend<B, T extends Record<string, Text>>(
  base: Texts<B>,
  of: { en: T; de: Same<T> },
) {
  const both = { en: { ...base.en, ...of.en }, de: { ...base.de, ...of.de } };
  return both as unknown as Texts<Omit<B, keyof T> & Same<T>>;
}

const KEY = "kurz.language";
const listeners = new Set<() => void>();
let current = chosen() ?? preferred();
document.documentElement.lang = current;

function chosen(): Language | null {
  const kept = storage.read(KEY);
  return kept === "en" || kept === "de" ? kept : null;
}

/** The first of the browser's languages that we speak. */
function preferred(): Language {
  for (const tag of navigator.languages) {
    const language = tag.slice(0, 2).toLowerCase();
    if (language === "en" || language === "de") return language;
  }
  return "en";
}

export function choose(language: Language): void {
  storage.write(KEY, language);
  current = language;
  document.documentElement.lang = language;
  for (const tell of listeners) tell();
}

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

export function useLanguage(): Language {
  return useSyncExternalStore(subscribe, () => current);
}

export function useTexts<T>(of: Texts<T>): T {
  return of[useLanguage()];
}

/** The reader's own way to write numbers and dates in that language: de-AT for German in Austria. */
export function localeOf(language: Language): string {
  return (
    navigator.languages.find((tag) => tag.toLowerCase().startsWith(language) && isLocale(tag)) ??
    language
  );
}

/** Browsers without a language of their own may say `en-US@posix`, which they refuse themselves. */
function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0;
  } catch {
    return false;
  }
}
