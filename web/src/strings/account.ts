import { withCommon } from "./common";

export const account = withCommon({
  en: {
    welcome: "Welcome back.",
    join: "Keep your links.",
    joinText:
      "With an account, your links do not expire, and you can see how many clicks they get.",
    email: "E-mail",
    password: "Password",
    passwordHint: "At least 8 characters. A whole sentence is fine.",
    make: "Create account",
    forgotten: "Forgot your password?",
    forgottenText:
      "kurz does not send e-mail. Ask an administrator of this server for a password reset link.",
    noAccount: "No account yet?",
    hasAccount: "Already have an account?",
    closed:
      "You need an invitation to create an account here. Ask an administrator of this server.",
    setUp: "This server has no administrator yet",
    setUpText:
      "If this is your server, open the set-up link that kurz printed when it started. The link works once and expires after a day. To print a new one, run this on the server:",
    needEmail: "Enter your e-mail address.",
    needPassword: "Enter your password.",
    shortPassword: "Too short. Use at least 8 characters.",

    you: "Profile",
    youText: "You sign in with this e-mail address. kurz does not send e-mail to it.",
    rights: "Role",
    isAdmin: "Administrator of this server",
    isMember: "Member",
    changeText: "Changing your password signs you out of all other sessions.",
    revokeKeys: "Also revoke my API keys and open invitations",
    revokeWorkspaceKeys: "API keys for a single workspace keep working. Also revoke:",
    oldPassword: "Current password",
    newPassword: "New password",
    change: "Change password",
    changed: "Your password was changed. You are signed out everywhere else.",
    unrevoked:
      "Your password was changed, but the selected API keys could not be revoked and still work. Revoke them on the API keys page.",
    wrongPassword: "The current password is incorrect.",
    look: "Language and theme",
    lookText: "Saved in this browser only.",
    language: "Language",
    export: "Export your data",
    exportText:
      "Download everything you own as one file: your account, API keys (without their secrets), workspaces and all personal links, including those in the trash. The format is JSON Lines, with one record per line.",
    exportVerb: "Export everything",
    end: "Delete account",
    endText:
      "This deletes your account immediately and permanently. Export your data first if you want to keep it.",
    endVerb: "Delete my account",
    endTitle: "Delete your account?",
    endAsk: "This cannot be undone.",
    endLinks: "Your personal links move to the trash and stop working immediately.",
    endKeys: "All your API keys and sessions stop working immediately.",
    endStay: (names: string) => `You leave ${names}. The links you created there stay.`,
    endAlone: (names: string) =>
      `You are the only member of ${names}, which will be deleted along with all its links.`,
    endBlocked: (names: string) =>
      `You are the only owner of ${names}, which has other members. Transfer ownership on the Members page first.`,
    endPassword: "Your current password",
  },
  de: {
    welcome: "Schön, dich zu sehen.",
    join: "Behalte deine Links.",
    joinText:
      "Mit einem Konto laufen deine Links nicht ab, und du siehst, wie oft sie geklickt werden.",
    email: "E-Mail",
    password: "Passwort",
    passwordHint: "Mindestens 8 Zeichen. Gern ein ganzer Satz.",
    make: "Konto anlegen",
    forgotten: "Passwort vergessen?",
    forgottenText:
      "kurz verschickt keine E-Mails. Bitte die Verwaltung dieses Servers um einen Link für ein neues Passwort.",
    noAccount: "Noch kein Konto?",
    hasAccount: "Du hast schon ein Konto?",
    closed: "Für ein Konto brauchst du hier eine Einladung. Frag die Verwaltung dieses Servers.",
    setUp: "Diesen Server verwaltet noch niemand",
    setUpText:
      "Ist es deiner? Öffne den Einrichtungslink, den kurz beim Start ausgegeben hat. Er funktioniert einmal und gilt einen Tag. Einen neuen gibt dieser Befehl auf dem Server aus:",
    needEmail: "Gib deine E-Mail-Adresse ein.",
    needPassword: "Gib dein Passwort ein.",
    shortPassword: "Zu kurz. Nimm mindestens 8 Zeichen.",

    you: "Profil",
    youText: "Mit dieser Adresse meldest du dich an. kurz schickt dir keine E-Mails.",
    rights: "Rolle",
    isAdmin: "Verwaltet diesen Server",
    isMember: "Mitglied",
    changeText: "Ein neues Passwort beendet alle anderen Sitzungen.",
    revokeKeys: "Auch meine API-Schlüssel und offenen Einladungen widerrufen",
    revokeWorkspaceKeys:
      "API-Schlüssel für einen einzelnen Arbeitsbereich gelten weiter. Auch widerrufen:",
    oldPassword: "Aktuelles Passwort",
    newPassword: "Neues Passwort",
    change: "Passwort ändern",
    changed: "Dein Passwort ist geändert. Überall sonst bist du abgemeldet.",
    unrevoked:
      "Dein Passwort ist geändert, aber die angekreuzten API-Schlüssel ließen sich nicht widerrufen und gelten weiterhin. Widerrufe sie unter „API-Schlüssel“.",
    wrongPassword: "Das aktuelle Passwort stimmt nicht.",
    look: "Sprache und Farben",
    lookText: "Gilt nur in diesem Browser.",
    language: "Sprache",
    export: "Daten exportieren",
    exportText:
      "Alles, was dir gehört, in einer Datei: Konto, API-Schlüssel (ohne ihr Geheimnis), Arbeitsbereiche und jeder persönliche Link, auch aus dem Papierkorb. Das Format ist JSON Lines, ein Datensatz je Zeile.",
    exportVerb: "Alles exportieren",
    end: "Konto löschen",
    endText:
      "Dein Konto wird sofort und endgültig gelöscht. Exportiere vorher, was du behalten willst.",
    endVerb: "Mein Konto löschen",
    endTitle: "Dein Konto löschen?",
    endAsk: "Das lässt sich nicht rückgängig machen.",
    endLinks:
      "Deine persönlichen Links kommen in den Papierkorb und funktionieren sofort nicht mehr.",
    endKeys: "Alle deine API-Schlüssel und Sitzungen gelten sofort nicht mehr.",
    endStay: (names: string) => `Du verlässt ${names}. Deine Links dort bleiben dort.`,
    endAlone: (names: string) =>
      `Du bist das einzige Mitglied von ${names}. Das wird samt allen Links gelöscht.`,
    endBlocked: (names: string) =>
      `Du bist der einzige Inhaber von ${names}, und es gibt dort noch andere Mitglieder. Übertrage vorher die Inhaberschaft, auf der Seite „Mitglieder“.`,
    endPassword: "Dein aktuelles Passwort",
  },
});
