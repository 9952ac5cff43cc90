import { withCommon } from "./common";

export const workspaces = withCommon({
  en: {
    owner: "Owner",
    editor: "Editor",
    viewer: "Viewer",
    asowner: "an owner",
    aseditor: "an editor",
    asviewer: "a viewer",
    ownerText:
      "Full access: can also manage members, domains and settings, and delete the workspace.",
    editorText: "Can create, edit and delete links.",
    viewerText: "Can view and export links and stats, but not change anything.",

    newOne: "New workspace…",
    newTitle: "New workspace",
    newText: "A shared space for a team's links, with its own URL prefix.",
    create: "Create workspace",
    created: (name: string) => `${name} was created.`,
    nameExample: "Press office",
    needName: "Enter a name.",
    slug: "Short name for URLs",
    slugHint: "Use lowercase letters, digits and hyphens.",
    linksStand: "Links use",
    restoreOf: (name: string) => `Restore ${name}`,
    restored: (name: string) => `${name} was restored, with its links.`,

    strategy: "Code type",
    deterministicText:
      "The same URL always gets the same code, so creating a link twice gives you the same link. Anyone who knows a URL can calculate its code.",
    randomText:
      "Every link gets a short code that cannot be guessed, even if the URL already has a link.",
    counterText:
      "Codes come from a shuffled counter. They never collide, and a code does not reveal the next one.",
    strategyLater:
      "You can change this at any time. It applies to new links; existing links keep their codes. You can always enter a custom code instead.",

    membersText: "People in this workspace and their roles.",
    member: "Member",
    role: "Role",
    roleOf: (email: string) => `Role of ${email}`,
    you: "you",
    roleChanged: (email: string, role: string) => `${email} is now ${role}.`,
    ownRoleTitle: "Change your own role?",
    ownRoleText: (role: string) =>
      `You become ${role}. You cannot undo this yourself, but another owner can.`,
    ownRoleVerb: "Change my role",
    remove: (email: string) => `Remove ${email}`,
    removeTitle: "Remove this member?",
    removeText: (email: string) =>
      `${email} loses access to this workspace within 5 seconds. The links they created stay. You can invite them again.`,
    removeVerb: "Remove",
    removed: (email: string) => `${email} was removed.`,
    leave: "Leave workspace",
    leaveText: "You lose access to this workspace. The links you created stay.",
    leaveTitle: "Leave this workspace?",
    leaveAsk: (name: string) =>
      `You lose access to ${name}. The links you created there stay. To rejoin, you need an invitation.`,
    leaveVerb: "Leave",
    left: (name: string) => `You left ${name}.`,
    handOver: "Transfer ownership",
    handOverText: "Another member becomes the owner, and you become an editor.",
    handOverTo: "New owner",
    handOverTitle: "Transfer ownership?",
    handOverAsk: (email: string) =>
      `${email} becomes the owner, and you become an editor. Only an owner can make you an owner again.`,
    handOverVerb: "Transfer",
    handedOver: (email: string) => `${email} now owns this workspace.`,

    invite: "Invite",
    inviteTitle: "Invite someone",
    inviteText: "kurz does not send e-mail. You get a link that works once, and send it yourself.",
    makeLink: "Create link",
    inviteReady: "Send this link to one person",
    inviteOnce: (role: string, when: string) =>
      `The first person to open it becomes ${role}, with a new or existing account. The link works once and expires ${when}. It is shown only once.`,
    copyInvite: "Copy invitation link",
    invitations: "Open invitations",
    invitationsText:
      "Invitation links that have not been used yet. Each link is shown only once, when you create it.",
    invitedBy: "Invited by",
    made: "Created",
    withdrawOf: (role: string) => `Revoke ${role} invitation`,
    withdrawTitle: "Revoke this invitation?",
    withdrawText: "Its link stops working. Members who have already joined stay.",
    withdrawn: "The invitation was revoked.",

    settingsText: "The name, URL and defaults of this workspace.",
    slugOld: "Earlier short names keep working, so existing links stay valid.",
    expiry: "Default expiry",
    expiryServer: "Server default",
    expiryDays: "After a number of days",
    expiryAfter: (days: string) => `After ${days}`,
    days: "Days",
    needDays: "Enter a whole number from 1 to 36,500.",
    expiryText: "Applies to new links unless you choose another expiry.",
    readOnly: (role: string) =>
      `You are ${role} in this workspace. Only owners can change these settings.`,
    quota: "Links this month",
    quotaUse: (used: string, all: string) => `${used} of ${all} links this month`,
    quotaNone: "Unlimited.",
    quotaText: (when: string) => `Resets ${when}. Deleted links still count.`,
    quotaBy: "Administrators of this server set this quota.",
    delete: "Delete workspace",
    deleteText:
      "Its links and domains stop working immediately. An owner can restore it within 30 days.",
    deleteTitle: (name: string) => `Delete ${name}?`,
    deleteAsk:
      "All its links and domains stop working immediately, for all members. An owner can restore the workspace within 30 days. After that, it is permanently deleted, along with its links and clicks. Export them first if you need them.",
    deleteType: (name: string) => `To confirm, type the name: ${name}`,
    deleted: (name: string) => `${name} was deleted.`,
  },
  de: {
    owner: "Inhaber",
    editor: "Bearbeiter",
    viewer: "Leser",
    asowner: "Inhaber",
    aseditor: "Bearbeiter",
    asviewer: "Leser",
    ownerText:
      "Voller Zugriff: verwaltet auch Mitglieder, Domains und Einstellungen und kann den Bereich löschen.",
    editorText: "Legt Links an, ändert und löscht sie.",
    viewerText: "Sieht Links und Statistik und exportiert sie. Ändert nichts.",

    newOne: "Neuer Arbeitsbereich …",
    newTitle: "Neuer Arbeitsbereich",
    newText: "Ein gemeinsamer Ort für die Links eines Teams, mit eigener Adresse davor.",
    create: "Arbeitsbereich anlegen",
    created: (name: string) => `${name} ist angelegt.`,
    nameExample: "Pressestelle",
    needName: "Gib einen Namen ein.",
    slug: "Kurzname für Adressen",
    slugHint: "Nimm Kleinbuchstaben, Ziffern und Bindestriche.",
    linksStand: "Links beginnen mit",
    restoreOf: (name: string) => `${name} wiederherstellen`,
    restored: (name: string) => `${name} ist wiederhergestellt, samt Links.`,

    strategy: "Art der Codes",
    deterministicText:
      "Dieselbe Adresse bekommt immer denselben Code. Zweimal angelegt, ist es derselbe Link. Wer die Adresse kennt, kann den Code ausrechnen.",
    randomText:
      "Jeder Link bekommt einen kurzen Code, den niemand errät, auch wenn es zur Adresse schon einen Link gibt.",
    counterText:
      "Codes kommen aus einem gemischten Zähler. Sie sind nie doppelt, und keiner verrät den nächsten.",
    strategyLater:
      "Das lässt sich jederzeit ändern. Es gilt für neue Links; vorhandene behalten ihren Code. Ein Wunschcode geht immer.",

    membersText: "Die Personen in diesem Arbeitsbereich und ihre Rollen.",
    member: "Mitglied",
    role: "Rolle",
    roleOf: (email: string) => `Rolle von ${email}`,
    you: "du",
    roleChanged: (email: string, role: string) => `${email} ist jetzt ${role}.`,
    ownRoleTitle: "Die eigene Rolle ändern?",
    ownRoleText: (role: string) =>
      `Du wirst ${role}. Du kannst das nicht selbst rückgängig machen, ein anderer Inhaber schon.`,
    ownRoleVerb: "Rolle ändern",
    remove: (email: string) => `${email} entfernen`,
    removeTitle: "Mitglied entfernen?",
    removeText: (email: string) =>
      `${email} verliert binnen 5 Sekunden den Zugriff auf diesen Bereich. Angelegte Links bleiben. Du kannst die Person wieder einladen.`,
    removeVerb: "Entfernen",
    removed: (email: string) => `${email} wurde entfernt.`,
    leave: "Arbeitsbereich verlassen",
    leaveText: "Du verlierst den Zugriff auf diesen Bereich. Deine Links bleiben hier.",
    leaveTitle: "Arbeitsbereich verlassen?",
    leaveAsk: (name: string) =>
      `Du verlierst den Zugriff auf ${name}. Deine Links dort bleiben. Zurück kommst du nur mit einer Einladung.`,
    leaveVerb: "Verlassen",
    left: (name: string) => `Du hast ${name} verlassen.`,
    handOver: "Inhaberschaft übertragen",
    handOverText: "Ein anderes Mitglied wird Inhaber, und du wirst Bearbeiter.",
    handOverTo: "Neuer Inhaber",
    handOverTitle: "Inhaberschaft übertragen?",
    handOverAsk: (email: string) =>
      `${email} wird Inhaber, und du wirst Bearbeiter. Wieder zum Inhaber machen kann dich nur ein Inhaber.`,
    handOverVerb: "Übertragen",
    handedOver: (email: string) => `${email} ist jetzt Inhaber.`,

    invite: "Einladen",
    inviteTitle: "Jemanden einladen",
    inviteText:
      "kurz verschickt keine E-Mails. Du bekommst einen Link, der einmal gilt, und schickst ihn selbst weiter.",
    makeLink: "Link erzeugen",
    inviteReady: "Diesen Link einer Person schicken",
    inviteOnce: (role: string, when: string) =>
      `Wer ihn zuerst öffnet, wird ${role}, mit einem neuen oder vorhandenen Konto. Der Link gilt einmal und läuft ${when} ab. Gezeigt wird er nur jetzt.`,
    copyInvite: "Einladungslink kopieren",
    invitations: "Offene Einladungen",
    invitationsText:
      "Einladungslinks, die noch niemand benutzt hat. Jeder Link wird nur einmal gezeigt, beim Anlegen.",
    invitedBy: "Eingeladen von",
    made: "Angelegt",
    withdrawOf: (role: string) => `Einladung als ${role} widerrufen`,
    withdrawTitle: "Einladung widerrufen?",
    withdrawText: "Ihr Link gilt dann nicht mehr. Wer schon beigetreten ist, bleibt.",
    withdrawn: "Die Einladung ist widerrufen.",

    settingsText: "Name, Adresse und Vorgaben dieses Bereichs.",
    slugOld: "Frühere Kurznamen gelten weiter, vorhandene Links bleiben also gültig.",
    expiry: "Ablauf neuer Links",
    expiryServer: "Vorgabe des Servers",
    expiryDays: "Nach einer Anzahl von Tagen",
    expiryAfter: (days: string) => `Nach ${days}`,
    days: "Tage",
    needDays: "Gib eine ganze Zahl von 1 bis 36.500 ein.",
    expiryText: "Gilt für neue Links, wenn beim Anlegen nichts anderes gewählt wird.",
    readOnly: (role: string) =>
      `Du bist hier ${role}. Diese Einstellungen können nur Inhaber ändern.`,
    quota: "Links in diesem Monat",
    quotaUse: (used: string, all: string) => `${used} von ${all} Links in diesem Monat`,
    quotaNone: "Unbegrenzt.",
    quotaText: (when: string) => `Beginnt ${when} von vorn. Gelöschte Links zählen mit.`,
    quotaBy: "Die Verwaltung dieses Servers legt das Kontingent fest.",
    delete: "Arbeitsbereich löschen",
    deleteText:
      "Links und Domains funktionieren sofort nicht mehr. 30 Tage lang kann ein Inhaber ihn wiederherstellen.",
    deleteTitle: (name: string) => `${name} löschen?`,
    deleteAsk:
      "Alle Links und Domains darin funktionieren sofort nicht mehr, für alle Mitglieder. 30 Tage lang kann ein Inhaber den Bereich wiederherstellen. Danach wird er endgültig gelöscht, mit allen Links und Klicks. Exportiere vorher, was du noch brauchst.",
    deleteType: (name: string) => `Zum Bestätigen den Namen eintippen: ${name}`,
    deleted: (name: string) => `${name} ist gelöscht.`,
  },
});
