import { texts } from "./language";

export const pager = texts({
  en: {
    next: "Next page",
    back: "Previous page",
    page: (number: string) => `Page ${number}`,
  },
  de: {
    next: "Nächste Seite",
    back: "Vorige Seite",
    page: (number: string) => `Seite ${number}`,
  },
});
