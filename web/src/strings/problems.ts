import type { Problem } from "../api/client";
import { common } from "./common";
import { texts, useTexts } from "./language";

/** By the code of a problem: what happened, what to do. Others are told in the server's words. */
const known = texts({
  en: {
    "url-refused":
      "kurz cannot shorten this URL. Enter a full web address, such as https://example.com.",
    "url-too-long": "This URL is too long. The limit is 2,048 bytes.",
    "url-own": "This URL leads back to this server. Enter the URL that it redirects to.",
    "url-credentials": "This URL contains a user name that everyone could see. Remove it.",
    "url-characters":
      "This URL contains a space, a backslash or an invisible character. Remove it.",
    "url-address": "Write the IP address in its usual form, such as 192.0.2.1.",
    "url-port": "This URL uses port 0, which does not exist. Remove the port.",
    "url-malformed": "This URL is not valid. Check it for typos.",
    "url-host": "This host name is not valid. One part of it is empty or too long.",
    "sign-in-refused": "The e-mail address or password is incorrect.",
    "email-taken": "An account with this e-mail address already exists. Sign in instead.",
    "email-refused": "This is not a valid e-mail address.",
    "password-refused":
      "Choose another password. It needs at least 8 characters and must not be a common one.",
    "registration-closed":
      "You need an invitation to create an account here. Ask an administrator.",
    "sign-in-required": "You need an account to do this. Sign in first.",
    "custom-code-taken": "This custom code is already taken. Choose another one.",
    "import-too-large":
      "This file has more rows than you can import at once. Nothing was imported. Split it, or ask an administrator to allow larger files.",
    "import-running":
      "Another import of yours is still running. Wait until it finishes, then try again.",
    "quota-exceeded": "You have reached your link limit for this month.",
    "custom-code-refused": "This custom code cannot be used. Choose another one.",
    "destination-refused":
      "This destination is blocked on this server. If you think this is a mistake, contact an administrator.",
    "link-banned": "The link to this URL is banned. Contact an administrator of this server.",
    "instant-refused":
      "This date cannot be used. It is in the past, or the expiry date is before the start date.",
    "link-not-found": "This link no longer exists. It may be in the trash.",
    "link-changed":
      "Someone else is changing this link too. Your changes are not saved yet. Try again.",
    "permission-missing": "You have read-only access here.",
    "version-outdated": "Someone else changed this in the meantime. Nothing was overwritten.",
    "checks-off": "Destination checks are turned off on this server.",
    "link-not-checked": "Only active links are checked, and this link is not active.",
    "owner-missing": "This is the only owner. Make another member an owner first, then try again.",
    "slug-taken": "Another workspace uses or used this short name. Choose another one.",
    "domain-refused":
      "This domain cannot be used. Enter a domain of your own in public DNS, such as go.example.com.",
    "domain-taken":
      "Another workspace uses this domain, or removed it less than 30 days ago. Ask its owners, or wait.",
    KURZ_LIMIT_WORKSPACES:
      "You have reached the limit of workspaces you can own. Transfer one, or ask an administrator to raise the limit.",
    KURZ_LIMIT_KEYS:
      "You have reached the limit of API keys. Revoke one you no longer need, or ask an administrator to raise the limit.",
    KURZ_LIMIT_SLUGS:
      "This workspace has reached the limit of short names, including earlier ones. Reuse one of those, or ask an administrator to raise the limit.",
    KURZ_LIMIT_DOMAINS:
      "This workspace has reached the limit of domains. Remove one that is not verified, or ask an administrator to raise the limit.",
    KURZ_LIMIT_INVITATIONS:
      "This workspace has reached the limit of open invitations. Revoke one, or ask an administrator to raise the limit.",
  },
  de: {
    "url-refused":
      "Diese Adresse lässt sich nicht kürzen. Gib eine vollständige Webadresse ein, etwa https://example.com.",
    "url-too-long": "Diese Adresse ist zu lang. Erlaubt sind bis zu 2.048 Byte.",
    "url-own":
      "Diese Adresse führt zu diesem Server zurück. Gib die Adresse ein, zu der sie weiterleitet.",
    "url-credentials":
      "Diese Adresse enthält einen Benutzernamen, den alle sehen könnten. Nimm ihn heraus.",
    "url-characters":
      "Diese Adresse enthält ein Leerzeichen, einen Backslash oder ein unsichtbares Zeichen. Nimm es heraus.",
    "url-address": "Schreib die IP-Adresse in der üblichen Form, etwa 192.0.2.1.",
    "url-port": "Diese Adresse enthält Port 0, den es nicht gibt. Nimm ihn heraus.",
    "url-malformed": "Das ist keine gültige Adresse. Prüfe sie auf Tippfehler.",
    "url-host": "Dieser Hostname ist ungültig. Ein Teil davon ist leer oder zu lang.",
    "sign-in-refused": "E-Mail-Adresse oder Passwort stimmt nicht.",
    "email-taken": "Mit dieser E-Mail-Adresse gibt es schon ein Konto. Melde dich an.",
    "email-refused": "Das ist keine gültige E-Mail-Adresse.",
    "password-refused":
      "Bitte ein anderes Passwort: mindestens 8 Zeichen, und keines der üblichen.",
    "registration-closed": "Für ein Konto brauchst du hier eine Einladung. Frag die Verwaltung.",
    "sign-in-required": "Das geht nur mit Konto. Melde dich zuerst an.",
    "custom-code-taken": "Dieser Wunschcode ist schon vergeben. Wähle einen anderen.",
    "import-too-large":
      "Diese Datei hat mehr Zeilen, als du auf einmal importieren kannst. Importiert wurde nichts. Teile sie auf, oder bitte die Verwaltung, dir größere zu erlauben.",
    "import-running":
      "Ein anderer Import von dir läuft noch. Warte, bis er fertig ist, und versuch es dann noch einmal.",
    "quota-exceeded": "Das Limit für Links in diesem Monat ist erreicht.",
    "custom-code-refused": "Dieser Wunschcode lässt sich nicht verwenden. Wähle einen anderen.",
    "destination-refused":
      "Dieses Ziel ist auf diesem Server gesperrt. Wenn das ein Irrtum ist, frag die Verwaltung.",
    "link-banned": "Der Link zu dieser Adresse ist gesperrt. Frag die Verwaltung dieses Servers.",
    "instant-refused":
      "Dieses Datum geht nicht. Es liegt in der Vergangenheit, oder der Ablauf liegt vor dem Beginn.",
    "link-not-found": "Diesen Link gibt es nicht mehr. Vielleicht liegt er im Papierkorb.",
    "link-changed":
      "Jemand anderes ändert diesen Link gerade ständig. Noch ist nichts gespeichert. Versuch es noch einmal.",
    "permission-missing": "Du hast hier nur Lesezugriff.",
    "version-outdated": "Jemand anderes hat das inzwischen geändert. Überschrieben wurde nichts.",
    "checks-off": "Die Prüfung der Ziele ist auf diesem Server ausgeschaltet.",
    "link-not-checked": "Geprüft werden nur aktive Links, und dieser ist nicht aktiv.",
    "owner-missing":
      "Das ist der einzige Inhaber. Mach zuerst ein anderes Mitglied zum Inhaber, dann versuch es noch einmal.",
    "slug-taken": "Diesen Kurznamen hat oder hatte ein anderer Bereich. Wähle einen anderen.",
    "domain-refused":
      "Diese Domain lässt sich nicht verwenden. Gib eine eigene Domain aus dem öffentlichen DNS ein, etwa go.example.com.",
    "domain-taken":
      "Ein anderer Bereich nutzt diese Domain oder hat sie vor weniger als 30 Tagen entfernt. Frag dort nach, oder warte.",
    KURZ_LIMIT_WORKSPACES:
      "Du hast die Grenze für eigene Bereiche erreicht. Gib einen ab, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_KEYS:
      "Du hast die Grenze für API-Schlüssel erreicht. Widerrufe einen, den du nicht mehr brauchst, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_SLUGS:
      "Dieser Bereich hat die Grenze für Kurznamen erreicht, frühere zählen mit. Nimm einen von diesen, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_DOMAINS:
      "Dieser Bereich hat die Grenze für Domains erreicht. Entferne eine, die nicht bestätigt ist, oder bitte die Verwaltung, die Grenze anzuheben.",
    KURZ_LIMIT_INVITATIONS:
      "Dieser Bereich hat die Grenze für offene Einladungen erreicht. Widerrufe eine, oder bitte die Verwaltung, die Grenze anzuheben.",
  },
});

/** A URL is refused for one of many flaws, and each limit is about something else. Those without a
 *  sentence of their own have the common one, or the server's. */
function nameOf({ code, fields }: Problem): string {
  const name = code === "limit-reached" ? String(fields.setting) : `url-${fields.reason}`;
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
