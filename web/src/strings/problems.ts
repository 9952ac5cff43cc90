import type { Problem } from "../api/client";
import { common } from "./common";
import { texts, useTexts } from "./language";

/** By the code of a problem: what happened, what to do. Others are told in the server's words. */
const known = texts({
  en: {
    "url-refused":
      "This is not an address kurz can shorten. It needs a full web address, such as https://example.com.",
    "url-too-long": "This address is too long: kurz takes up to 2,048 bytes.",
    "url-own": "This address leads back to this shortener. Shorten the one it leads to.",
    "url-credentials":
      "There is a user name in this address, and everybody would see it. Take it out.",
    "url-characters":
      "There is a space, a backslash or a character that cannot be seen in this address. Take it out.",
    "url-address": "Write the numbers of this address in their usual form, such as 192.0.2.1.",
    "url-port": "Nobody answers at port 0. Take it out of this address.",
    "url-malformed": "This is not a valid address. Check it for typing errors.",
    "url-host": "No host can have this name: a part of it is empty or too long.",
    "sign-in-refused": "The e-mail address or the password is not right.",
    "email-taken": "There is an account with this e-mail address already. Sign in instead.",
    "email-refused": "This is not an e-mail address.",
    "password-refused":
      "Choose another password: at least 8 characters, and not one of the common ones.",
    "registration-closed": "Accounts here are made by invitation. Ask an administrator for one.",
    "sign-in-required": "This needs an account. Sign in first.",
    "custom-code-taken": "This alias is taken. Choose another one.",
    "import-too-large":
      "This file has more rows than you can import at once. Nothing was imported. Split it, or ask an administrator to allow larger files.",
    "import-running":
      "Another import of yours is still running. Wait until it is done, then try again.",
    "quota-exceeded": "All links of this month are used up.",
    "custom-code-refused": "This alias cannot be used. Choose another one.",
    "destination-refused":
      "No link may lead there: the address stands on a list of this server. Ask whoever runs it, if that is wrong.",
    "link-banned": "The link of this address was taken down. Ask whoever runs this server.",
    "instant-refused":
      "This time cannot be used: it is in the past, or the end is before the beginning.",
    "link-not-found": "There is no such link any more. It may be in the trash.",
    "link-changed": "Somebody else keeps changing this link. Nothing is saved yet; try again.",
    "permission-missing": "You may look here, but not change anything.",
    "version-outdated": "Somebody else changed it meanwhile. Nothing was overwritten.",
    "checks-off": "Destinations are not checked on this server.",
    "link-not-checked": "Only links that lead somewhere are checked, and this one does not now.",
    "owner-missing": "This is the only owner. Make another member owner first, then try again.",
    "slug-taken": "Another workspace has or had this short name. Choose another one.",
    "domain-refused":
      "This cannot be a domain here. It needs a name of your own in the public DNS, such as go.example.com.",
    "domain-taken":
      "Another workspace has this domain, or gave it up less than 30 days ago. Ask them, or wait.",
    KURZ_LIMIT_WORKSPACES:
      "You own as many workspaces as you can. Hand one over, or ask an administrator to raise the limit.",
    KURZ_LIMIT_KEYS:
      "You have as many API keys as you can. Revoke one that is not used, or ask an administrator to raise the limit.",
    KURZ_LIMIT_SLUGS:
      "This workspace has had as many short names as it can. Choose one of those, or ask an administrator to raise the limit.",
    KURZ_LIMIT_DOMAINS:
      "This workspace has as many domains as it can. Remove one that is not verified, or ask an administrator to raise the limit.",
    KURZ_LIMIT_INVITATIONS:
      "This workspace has as many open invitations as it can. Revoke one, or ask an administrator to raise the limit.",
  },
  de: {
    "url-refused":
      "Diese Adresse lässt sich nicht kürzen. Gebraucht wird eine ganze Webadresse wie https://example.com.",
    "url-too-long": "Diese Adresse ist zu lang: kurz nimmt bis zu 2.048 Byte.",
    "url-own": "Diese Adresse führt zu diesem Kürzer zurück. Kürze die, zu der sie führt.",
    "url-credentials":
      "In dieser Adresse steht ein Benutzername, und alle würden ihn sehen. Nimm ihn heraus.",
    "url-characters":
      "In dieser Adresse steht ein Leerzeichen, ein Backslash oder ein unsichtbares Zeichen. Nimm es heraus.",
    "url-address": "Schreib die Zahlen dieser Adresse in der üblichen Form, etwa 192.0.2.1.",
    "url-port": "An Port 0 antwortet niemand. Nimm ihn aus dieser Adresse heraus.",
    "url-malformed": "Das ist keine gültige Adresse. Prüfe sie auf Tippfehler.",
    "url-host": "So kann kein Host heißen: Ein Teil des Namens ist leer oder zu lang.",
    "sign-in-refused": "E-Mail-Adresse oder Passwort stimmt nicht.",
    "email-taken": "Mit dieser E-Mail-Adresse gibt es schon ein Konto. Bitte anmelden.",
    "email-refused": "Das ist keine E-Mail-Adresse.",
    "password-refused":
      "Bitte ein anderes Passwort: mindestens 8 Zeichen, und keines der üblichen.",
    "registration-closed":
      "Konten gibt es hier nur auf Einladung. Bitte bei der Verwaltung danach fragen.",
    "sign-in-required": "Das geht nur mit Konto. Bitte erst anmelden.",
    "custom-code-taken": "Diesen Alias gibt es schon. Bitte einen anderen wählen.",
    "import-too-large":
      "Diese Datei hat mehr Zeilen, als du auf einmal importieren kannst. Geschrieben wurde nichts. Teile sie auf, oder frag die Verwaltung.",
    "import-running":
      "Ein anderer Import von dir läuft noch. Warte, bis er fertig ist, und versuch es dann noch einmal.",
    "quota-exceeded": "Alle Links dieses Monats sind aufgebraucht.",
    "custom-code-refused": "Dieser Alias geht nicht. Bitte einen anderen wählen.",
    "destination-refused":
      "Dorthin darf kein Link führen: Die Adresse steht auf einer Liste dieses Servers. Wer ihn betreibt, kann das ändern.",
    "link-banned":
      "Der Link zu dieser Adresse wurde gesperrt. Bitte bei der Verwaltung nachfragen.",
    "instant-refused": "Diese Zeit geht nicht: Sie ist vorbei, oder das Ende liegt vor dem Anfang.",
    "link-not-found": "Diesen Link gibt es nicht mehr. Vielleicht liegt er im Papierkorb.",
    "link-changed":
      "Jemand anderes ändert diesen Link gerade ständig. Noch ist nichts gespeichert, bitte noch einmal.",
    "permission-missing": "Hier darfst du nur lesen, nichts ändern.",
    "version-outdated": "Jemand hat ihn inzwischen geändert. Überschrieben wurde nichts.",
    "checks-off": "Auf diesem Server werden Ziele nicht geprüft.",
    "link-not-checked":
      "Geprüft werden nur Links, die weiterleiten, und dieser tut es gerade nicht.",
    "owner-missing":
      "Das ist der einzige Inhaber. Erst ein anderes Mitglied zum Inhaber machen, dann noch einmal.",
    "slug-taken":
      "Diesen Kurznamen hat oder hatte ein anderer Bereich. Bitte einen anderen wählen.",
    "domain-refused":
      "Das kann hier keine Domain sein. Gebraucht wird ein eigener Name aus dem öffentlichen DNS wie go.example.com.",
    "domain-taken":
      "Ein anderer Bereich hat diese Domain oder gab sie vor weniger als 30 Tagen auf. Frag dort nach, oder warte.",
    KURZ_LIMIT_WORKSPACES:
      "Mehr eigene Bereiche gehen nicht. Gib einen ab, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_KEYS:
      "Mehr API-Schlüssel gehen nicht. Widerruf einen, der nicht mehr gebraucht wird, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_SLUGS:
      "Mehr Kurznamen kann dieser Bereich nicht haben, frühere zählen mit. Nimm einen von diesen, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_DOMAINS:
      "Mehr Domains kann dieser Bereich nicht haben. Entfern eine, die nicht bestätigt ist, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_INVITATIONS:
      "Mehr offene Einladungen kann dieser Bereich nicht haben. Zieh eine zurück, oder bitte die Verwaltung, die Grenze anzuheben.",
  },
});

/** A URL is refused for one of many flaws, and each limit is about something else. Those without a
 *  sentence of their own have the common one, or the server's. */
function nameOf({ code, fields }: Problem): string {
  const name = code === "limit-reached" ? String(fields.setting) : `url-${fields.flaw}`;
  const isSpecial = code === "url-refused" || code === "limit-reached";
  return isSpecial && name in known.en ? name : code;
}

/** A sentence for a person. */
export function useProblemText(): (problem: Problem) => string {
  const words = useTexts(common);
  const sentences: Record<string, string> = useTexts(known);
  return (problem) => {
    if (problem.code === "offline") return words.offline;
    if (problem.status === 429 && problem.retryAfterSeconds !== null) {
      const seconds = problem.retryAfterSeconds;
      const minutes = Math.ceil(seconds / 60);
      return words.tooMany(seconds < 60 ? words.seconds(seconds) : words.minutes(minutes));
    }
    if (problem.status === 503) return words.unavailable;
    return sentences[nameOf(problem)] ?? (problem.detail || words.unknown);
  };
}
