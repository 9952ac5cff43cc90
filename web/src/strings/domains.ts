import { withCommon } from "./common";

export const domains = withCommon({
  en: {
    title: "Domains",
    add: "Add domain",
    addText:
      "Enter a domain you can create DNS records for. Links do not use it until you verify that it is yours.",
    host: "Domain",
    hostHint: "Without https:// and without a path.",
    needHost: "Enter a domain, such as go.example.com.",
    addVerb: "Add",
    none: "No domains yet",
    noneText: "Add your own domain to use it for this workspace's links.",
    noneViewer: "Only owners of this workspace can add a domain.",
    active: "Active",
    waiting: "Waiting for the DNS record",
    missing: "DNS record missing",
    activeText: (when: string) => `Serves this workspace's links. Verified ${when}.`,
    missingText: (when: string) =>
      `The TXT record is missing (noticed ${when}). Add it again, or the domain stops working after three days.`,
    lostText: "The domain stopped working because its TXT record was missing.",
    stepRecord: "Add this TXT record at your DNS provider",
    recordValue: "Value",
    copyName: "Copy record name",
    copyValue: "Copy record value",
    recordHint:
      "Some providers append the domain to the name automatically. In that case, leave it out. Keep the record: kurz checks it every day.",
    stepVerify: "Verify the domain",
    verify: "Verify now",
    verifyHint: "New DNS records can take a few minutes to become visible.",
    verified: (host: string) => `${host} is verified and serves your links.`,
    notVerified: (when: string) =>
      `Checked at ${when}: no TXT record with this value was found. Check the name and value, wait a few minutes, then try again.`,
    lookupFailed: "The DNS servers did not respond. Nothing was changed. Try again in a moment.",
    taken:
      "The record is correct, but another workspace uses this domain, or removed it less than 30 days ago.",
    stepPoint: "Point the domain to this server",
    pointText:
      "Create an A or AAAA record with this server's IP address, or a CNAME record. The proxy in front of kurz needs a certificate for the domain.",
    copyTarget: "Copy CNAME target",
    pointedAt: "CNAME to",
    recordsOf: "DNS records",
    verifyTitle: "Check the DNS record now?",
    verifyAsk: (host: string) =>
      `If the record is still missing, ${host} stops working immediately instead of after three days.`,
    remove: (host: string) => `Remove ${host}`,
    removeVerb: "Remove",
    removeTitle: (host: string) => `Remove ${host}?`,
    removeActive: (address: string) =>
      `Links on this domain stop working immediately. They stay in the workspace and still work under ${address}. No other workspace can use the domain for 30 days. To use it again, add and verify it again.`,
    removeWaiting: "No links use this domain, so nothing else changes.",
    removed: (host: string) => `${host} was removed.`,
    front: "Home page",
    frontText: "Where visitors go when they open the domain without a code.",
    rootUrl: "Destination URL",
    rootHint: "Leave empty to show a “not found” page.",
    nowhere: "None. Visitors see a “not found” page.",
  },
  de: {
    title: "Domains",
    add: "Domain hinzufügen",
    addText:
      "Gib eine Domain ein, für die du DNS-Einträge anlegen kannst. Links nutzen sie erst, wenn bestätigt ist, dass sie dir gehört.",
    host: "Domain",
    hostHint: "Ohne https:// und ohne Pfad.",
    needHost: "Gib eine Domain ein, etwa go.example.com.",
    addVerb: "Hinzufügen",
    none: "Noch keine Domain",
    noneText: "Füge eine eigene Domain hinzu, um sie für die Links dieses Bereichs zu nutzen.",
    noneViewer: "Nur Inhaber dieses Bereichs können eine Domain hinzufügen.",
    active: "Aktiv",
    waiting: "Wartet auf den DNS-Eintrag",
    missing: "DNS-Eintrag fehlt",
    activeText: (when: string) => `Liefert die Links dieses Bereichs. Bestätigt ${when}.`,
    missingText: (when: string) =>
      `Der TXT-Eintrag fehlt (bemerkt ${when}). Leg ihn wieder an, sonst funktioniert die Domain nach drei Tagen nicht mehr.`,
    lostText: "Die Domain funktioniert nicht mehr, weil ihr TXT-Eintrag fehlte.",
    stepRecord: "Diesen TXT-Eintrag bei deinem DNS-Anbieter anlegen",
    recordValue: "Wert",
    copyName: "Namen des Eintrags kopieren",
    copyValue: "Wert des Eintrags kopieren",
    recordHint:
      "Manche Anbieter hängen die Domain selbst an den Namen an. Dann lass sie dort weg. Der Eintrag muss bleiben: kurz prüft ihn täglich.",
    stepVerify: "Domain bestätigen",
    verify: "Jetzt prüfen",
    verifyHint: "Neue DNS-Einträge sind manchmal erst nach ein paar Minuten sichtbar.",
    verified: (host: string) => `${host} ist bestätigt und liefert deine Links.`,
    notVerified: (when: string) =>
      `Geprüft um ${when}: Es gibt keinen TXT-Eintrag mit diesem Wert. Prüfe Name und Wert, warte ein paar Minuten, dann versuch es noch einmal.`,
    lookupFailed:
      "Die DNS-Server haben nicht geantwortet. Es hat sich nichts geändert. Versuch es gleich noch einmal.",
    taken:
      "Der Eintrag stimmt, aber ein anderer Bereich nutzt diese Domain oder hat sie vor weniger als 30 Tagen entfernt.",
    stepPoint: "Die Domain auf diesen Server zeigen lassen",
    pointText:
      "Leg einen A- oder AAAA-Eintrag mit der IP-Adresse dieses Servers an, oder einen CNAME. Der Proxy vor kurz braucht ein Zertifikat für die Domain.",
    copyTarget: "Ziel des CNAME kopieren",
    pointedAt: "CNAME auf",
    recordsOf: "DNS-Einträge",
    verifyTitle: "Den DNS-Eintrag jetzt prüfen?",
    verifyAsk: (host: string) =>
      `Fehlt er noch, funktioniert ${host} sofort nicht mehr, statt erst nach drei Tagen.`,
    remove: (host: string) => `${host} entfernen`,
    removeVerb: "Entfernen",
    removeTitle: (host: string) => `${host} entfernen?`,
    removeActive: (address: string) =>
      `Links unter dieser Domain funktionieren sofort nicht mehr. Sie bleiben im Bereich und funktionieren weiter unter ${address}. 30 Tage lang kann kein anderer Bereich die Domain nutzen. Um sie wieder zu nutzen, füg sie neu hinzu und bestätige sie.`,
    removeWaiting: "Kein Link nutzt diese Domain, also ändert sich sonst nichts.",
    removed: (host: string) => `${host} ist entfernt.`,
    front: "Startseite",
    frontText: "Wohin Besucher kommen, wenn sie die Domain ohne Code öffnen.",
    rootUrl: "Zieladresse",
    rootHint: "Leer: Besucher sehen „nicht gefunden“.",
    nowhere: "Keine. Besucher sehen „nicht gefunden“.",
  },
});
