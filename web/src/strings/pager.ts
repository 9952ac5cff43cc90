import { texts } from "./language";

export const pager = texts({
  en: {
    next: "Next page",
    back: "Page before",
    page: (number: string) => `Page ${number}`,
  },
  de: {
    next: "Nächste Seite",
    back: "Seite davor",
    page: (number: string) => `Seite ${number}`,
  },
});
