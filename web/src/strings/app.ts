import { texts } from "./language";

export const app = texts({
  en: {
    links: "Links",
    stats: "Stats",
    trash: "Trash",
    members: "Members",
    domains: "Domains",
    settings: "Settings",
    keys: "Keys",
    account: "Account",
    admin: "Administration",
    workspace: "Workspace",
    personal: "Personal",
    place: "Where you are",
    navigation: "Pages",
    openNavigation: "Open the list of pages",
    skip: "Skip to the content",
    signOut: "Sign out",
    missing: "There is no page here",
    missingText: "The address may be mistyped, or the page is for others.",
    toLinks: "Go to your links",
    noPlace: "You are not in this workspace",
    noPlaceText:
      "It may have been deleted, you may have left it, or the address is mistyped. An owner can invite you.",
    stuck: "A page that is not there",
    unloaded:
      "This page could not be loaded. There may be no connection, or a newer version of kurz: reload to go on.",
    broken: "This page broke. Reload it; if that does not help, tell whoever runs this server.",
    reload: "Reload",
    claimTitle: (count: number) =>
      count === 1
        ? "You made a link in this browser without an account."
        : `You made ${count} links in this browser without an account.`,
    claimText: (count: number) =>
      count === 1
        ? "Make it yours, and it stays until you delete it."
        : "Make them yours, and they stay until you delete them.",
    claim: (count: number) => (count === 1 ? "Make it mine" : "Make them mine"),
    claimed: (count: number) =>
      count === 1 ? "1 link is yours now." : `${count} links are yours now.`,
    claimFailed: (count: number) =>
      count === 1 ? "1 link could not be kept." : `${count} links could not be kept.`,
    notNow: "Not now",
    ended: "You were signed out",
    endedText: "Sign in again to go on. Nothing you typed is lost.",
  },
  de: {
    links: "Links",
    stats: "Statistik",
    trash: "Papierkorb",
    members: "Mitglieder",
    domains: "Domains",
    settings: "Einstellungen",
    keys: "Schlüssel",
    account: "Konto",
    admin: "Verwaltung",
    workspace: "Arbeitsbereich",
    personal: "Persönlich",
    place: "Wo du gerade bist",
    navigation: "Seiten",
    openNavigation: "Seitenliste öffnen",
    skip: "Zum Inhalt",
    signOut: "Abmelden",
    missing: "Hier ist keine Seite",
    missingText: "Vielleicht ist die Adresse vertippt, oder die Seite ist für andere.",
    toLinks: "Zu deinen Links",
    noPlace: "In diesem Arbeitsbereich bist du nicht",
    noPlaceText:
      "Vielleicht wurde er gelöscht, du hast ihn verlassen, oder die Adresse ist vertippt. Wer ihn besitzt, kann dich einladen.",
    stuck: "Eine Seite, die nicht da ist",
    unloaded:
      "Diese Seite ließ sich nicht laden. Vielleicht fehlt die Verbindung, oder es gibt eine neuere Version: Neu laden hilft.",
    broken:
      "Diese Seite ist kaputtgegangen. Lade sie neu, und wenn das nicht hilft, sag es bitte der Verwaltung.",
    reload: "Neu laden",
    claimTitle: (count: number) =>
      count === 1
        ? "In diesem Browser liegt ein Link, der ohne Konto entstanden ist."
        : `In diesem Browser liegen ${count} Links, die ohne Konto entstanden sind.`,
    claimText: (count: number) =>
      count === 1
        ? "Übernimm ihn, dann bleibt er, bis du ihn löschst."
        : "Übernimm sie, dann bleiben sie, bis du sie löschst.",
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
