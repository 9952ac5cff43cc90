import { withCommon } from "./common";

export const trash = withCommon({
  en: {
    title: "Trash",
    purged: "Permanent deletion",
    soon: "Soon",
    restoreOf: (code: string) => `Restore ${code}`,
    purge: "Delete permanently",
    purgeOf: (code: string) => `Delete ${code} permanently`,
    purgeTitle: (count: string) =>
      count === "1" ? "Permanently delete this link?" : `Permanently delete ${count} links?`,
    purgeText: "History and stats are deleted too. This cannot be undone.",
    purgeDone: (count: string) =>
      count === "1"
        ? "1 link was permanently deleted."
        : `${count} links were permanently deleted.`,
    empty: "Empty trash",
    emptyTitle: "Empty the trash?",
    emptyText: (count: string) =>
      count === "1"
        ? "1 link will be permanently deleted, with its history and stats. This cannot be undone."
        : `${count} links will be permanently deleted, with their history and stats. This cannot be undone.`,
    restoreTitle: (count: string) => `Restore ${count} links?`,
    restoreText: (count: string) =>
      count === "1"
        ? "1 of them had expired. It is restored without an expiry date."
        : `${count} of them had expired. They are restored without an expiry date.`,
    none: "The trash is empty",
    noneText: "Deleted links appear here. You can restore them until they are permanently deleted.",
    text: "Links in the trash do not work. They keep their codes until they are permanently deleted.",
  },
  de: {
    title: "Papierkorb",
    purged: "Endgültige Löschung",
    soon: "Bald",
    restoreOf: (code: string) => `${code} wiederherstellen`,
    purge: "Endgültig löschen",
    purgeOf: (code: string) => `${code} endgültig löschen`,
    purgeTitle: (count: string) =>
      count === "1" ? "Diesen Link endgültig löschen?" : `${count} Links endgültig löschen?`,
    purgeText: "Verlauf und Statistik werden mit gelöscht. Das lässt sich nicht rückgängig machen.",
    purgeDone: (count: string) =>
      count === "1"
        ? "Ein Link ist endgültig gelöscht."
        : `${count} Links sind endgültig gelöscht.`,
    empty: "Papierkorb leeren",
    emptyTitle: "Papierkorb leeren?",
    emptyText: (count: string) =>
      count === "1"
        ? "Ein Link wird endgültig gelöscht, samt Verlauf und Statistik. Das lässt sich nicht rückgängig machen."
        : `${count} Links werden endgültig gelöscht, samt Verlauf und Statistik. Das lässt sich nicht rückgängig machen.`,
    restoreTitle: (count: string) => `${count} Links wiederherstellen?`,
    restoreText: (count: string) =>
      count === "1"
        ? "Einer davon war abgelaufen. Er wird ohne Ablaufdatum wiederhergestellt."
        : `${count} davon waren abgelaufen. Sie werden ohne Ablaufdatum wiederhergestellt.`,
    none: "Der Papierkorb ist leer",
    noneText:
      "Gelöschte Links erscheinen hier. Du kannst sie wiederherstellen, bis sie endgültig gelöscht werden.",
    text: "Links im Papierkorb funktionieren nicht. Ihre Codes behalten sie, bis sie endgültig gelöscht werden.",
  },
});
