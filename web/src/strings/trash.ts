import { texts } from "./language";

export const trash = texts({
  en: {
    title: "Trash",
    deleted: "Deleted",
    expired: "Expired",
    purged: "Purged",
    never: "Never",
    soon: "Soon",
    restore: "Restore",
    restoreOf: (code: string) => `Restore ${code}`,
    purge: "Delete for ever",
    purgeOf: (code: string) => `Delete ${code} for ever`,
    purgeTitle: (count: string) =>
      count === "1" ? "Delete this link for ever?" : `Delete ${count} links for ever?`,
    purgeText: "Their history and stats go with them. There is no way back.",
    purgeDone: (count: string) =>
      count === "1" ? "1 link is gone for ever." : `${count} links are gone for ever.`,
    empty: "Empty the trash",
    emptyTitle: "Empty the trash?",
    emptyText: (count: string) =>
      count === "1"
        ? "1 link is deleted for ever, with its history and stats. There is no way back."
        : `${count} links are deleted for ever, with their history and stats. There is no way back.`,
    restoreTitle: (count: string) => `Restore ${count} links?`,
    restoreText: (count: string) =>
      count === "1"
        ? "1 of them had expired. It comes back without an end."
        : `${count} of them had expired. They come back without an end.`,
    none: "The trash is empty",
    noneText: "Links you delete wait here for a while. Until then you can bring them back.",
    text: "Links here do not answer. They keep their codes until they are purged.",
  },
  de: {
    title: "Papierkorb",
    deleted: "Gelöscht",
    expired: "Abgelaufen",
    purged: "Endgültig weg",
    never: "Nie",
    soon: "Bald",
    restore: "Wiederherstellen",
    restoreOf: (code: string) => `${code} wiederherstellen`,
    purge: "Endgültig löschen",
    purgeOf: (code: string) => `${code} endgültig löschen`,
    purgeTitle: (count: string) =>
      count === "1" ? "Diesen Link endgültig löschen?" : `${count} Links endgültig löschen?`,
    purgeText: "Verlauf und Statistik gehen mit. Zurück gibt es nicht.",
    purgeDone: (count: string) =>
      count === "1" ? "Ein Link ist endgültig weg." : `${count} Links sind endgültig weg.`,
    empty: "Papierkorb leeren",
    emptyTitle: "Papierkorb leeren?",
    emptyText: (count: string) =>
      count === "1"
        ? "Ein Link wird endgültig gelöscht, samt Verlauf und Statistik. Zurück gibt es nicht."
        : `${count} Links werden endgültig gelöscht, samt Verlauf und Statistik. Zurück gibt es nicht.`,
    restoreTitle: (count: string) => `${count} Links wiederherstellen?`,
    restoreText: (count: string) =>
      count === "1"
        ? "Einer davon war abgelaufen. Er kommt ohne Ende zurück."
        : `${count} davon waren abgelaufen. Sie kommen ohne Ende zurück.`,
    none: "Der Papierkorb ist leer",
    noneText: "Gelöschte Links warten hier eine Weile. So lange kannst du sie wiederherstellen.",
    text: "Links hier antworten nicht. Ihre Codes behalten sie, bis sie endgültig weg sind.",
  },
});
