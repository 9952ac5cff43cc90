import { useMemo } from "react";
import { localeOf, useLanguage, useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";

export interface Names {
  country(code: string): string;
  language(tag: string): string;
  device(name: string): string;
  sort(name: string): string;
}

/** Values of clicks as people call them. */
export function useNames(): Names {
  const language = useLanguage();
  const words = useTexts(texts);
  return useMemo(() => {
    const locale = localeOf(language);
    const regions = new Intl.DisplayNames(locale, { type: "region" });
    const languages = new Intl.DisplayNames(locale, { type: "language" });
    const known: Record<string, string> = {
      desktop: words.desktop,
      phone: words.phone,
      tablet: words.tablet,
      other: words.otherDevice,
      person: words.person,
      private: words.private,
      prefetch: words.prefetch,
      preview: words.preview,
      bot: words.bot,
    };
    const named = (names: Intl.DisplayNames, code: string) => {
      try {
        return names.of(code) ?? code;
      } catch {
        return code; // whatever a browser sent
      }
    };
    return {
      country: (code) => named(regions, code),
      language: (tag) => named(languages, tag),
      device: (name) => known[name] ?? name,
      sort: (name) => known[name] ?? name,
    };
  }, [language, words]);
}
