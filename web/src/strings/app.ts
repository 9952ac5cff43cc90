import { texts } from "./language";

export const app = texts({
  en: {
    links: "Links",
    stats: "Stats",
    trash: "Trash",
    members: "Members",
    domains: "Domains",
    settings: "Settings",
    keys: "API keys",
    account: "Account",
    admin: "Administration",
    personal: "Personal",
    space: "Current workspace",
    navigation: "Main navigation",
    openNavigation: "Open navigation",
    skip: "Skip to content",
    signOut: "Sign out",
    missing: "Page not found",
    missingText: "Check the URL. If it is right, you may not have access to this page.",
    toLinks: "Go to your links",
    noWorkspace: "You are not a member of this workspace",
    noWorkspaceText:
      "It may have been deleted, you may have left it, or the URL may be wrong. An owner can invite you.",
    stuck: "This page could not be shown",
    unloaded:
      "This page could not be loaded. Check your connection. If kurz was just updated, reload the page.",
    broken:
      "Something went wrong on this page. Reload it. If that does not help, contact an administrator of this server.",
    reload: "Reload",
    claimTitle: (count: number) =>
      count === 1
        ? "You created a link in this browser without an account."
        : `You created ${count} links in this browser without an account.`,
    claimText: (count: number) =>
      count === 1
        ? "Add it to your account to keep it permanently."
        : "Add them to your account to keep them permanently.",
    claim: (count: number) => (count === 1 ? "Add link" : "Add links"),
    claimed: (count: number) =>
      count === 1
        ? "1 link was added to your account."
        : `${count} links were added to your account.`,
    claimFailed: (count: number) =>
      count === 1 ? "1 link could not be added." : `${count} links could not be added.`,
    notNow: "Not now",
    ended: "You have been signed out",
    endedText: "Sign in again to continue. Your unsaved changes are still here.",
  },
  de: {
    links: "Links",
    stats: "Statistik",
    trash: "Papierkorb",
    members: "Mitglieder",
    domains: "Domains",
    settings: "Einstellungen",
    keys: "API-Schlüssel",
    account: "Konto",
    admin: "Verwaltung",
    personal: "Persönlich",
    space: "Aktueller Arbeitsbereich",
    navigation: "Hauptnavigation",
    openNavigation: "Navigation öffnen",
    skip: "Zum Inhalt",
    signOut: "Abmelden",
    missing: "Seite nicht gefunden",
    missingText:
      "Prüfe die Adresse. Stimmt sie, hast du vielleicht keinen Zugriff auf diese Seite.",
    toLinks: "Zu deinen Links",
    noWorkspace: "Du bist kein Mitglied dieses Arbeitsbereichs",
    noWorkspaceText:
      "Vielleicht wurde er gelöscht, du hast ihn verlassen, oder die Adresse ist vertippt. Wer ihn besitzt, kann dich einladen.",
    stuck: "Diese Seite ließ sich nicht anzeigen",
    unloaded:
      "Diese Seite ließ sich nicht laden. Prüfe die Verbindung. Wurde kurz gerade aktualisiert, lade die Seite neu.",
    broken:
      "Auf dieser Seite ist etwas schiefgegangen. Lade sie neu. Wenn das nicht hilft, wende dich an die Verwaltung dieses Servers.",
    reload: "Neu laden",
    claimTitle: (count: number) =>
      count === 1
        ? "In diesem Browser liegt ein Link, der ohne Konto entstanden ist."
        : `In diesem Browser liegen ${count} Links, die ohne Konto entstanden sind.`,
    claimText: (count: number) =>
      count === 1
        ? "Übernimm ihn in dein Konto, dann bleibt er dauerhaft."
        : "Übernimm sie in dein Konto, dann bleiben sie dauerhaft.",
    claim: () => "Übernehmen",
    claimed: (count: number) =>
      count === 1 ? "Ein Link gehört jetzt dir." : `${count} Links gehören jetzt dir.`,
    claimFailed: (count: number) =>
      count === 1
        ? "Ein Link ließ sich nicht übernehmen."
        : `${count} Links ließen sich nicht übernehmen.`,
    notNow: "Nicht jetzt",
    ended: "Du bist abgemeldet",
    endedText: "Melde dich wieder an, dann geht es weiter. Deine Eingaben sind noch da.",
  },
});
