"""The words of the pages that one-time links lead to. The rest of them is in the templates."""

from dataclasses import dataclass

from kurz.redirect.languages import ENGLISH, GERMAN


@dataclass(frozen=True, slots=True)
class Words:
    heading: str
    text: str
    button: str
    done: str


WORDS = {
    ENGLISH: {
        "setup": Words(
            heading="Set up kurz.",
            text="Make the first administrator's account. You are signed in right after.",
            button="Make the account",
            done="Done. You are the administrator; your dashboard comes up.",
        ),
        "reset": Words(
            heading="A new password.",
            text="Choose a new one. This ends all your sessions.",
            button="Set the password",
            done="Done. You are signed in; your links come up.",
        ),
        "join": Words(
            heading="You are invited.",
            text="Make an account to follow the invitation, or use the one you have.",
            button="Join",
            done="Done. You are in; the links come up.",
        ),
    },
    GERMAN: {
        "setup": Words(
            heading="kurz einrichten.",
            text="Hier entsteht das erste Konto für die Verwaltung. Danach bist du angemeldet.",
            button="Konto anlegen",
            done="Fertig. Du verwaltest kurz jetzt; die Oberfläche öffnet sich.",
        ),
        "reset": Words(
            heading="Ein neues Passwort.",
            text="Bitte ein neues wählen. Alle Sitzungen enden damit.",
            button="Passwort setzen",
            done="Fertig. Du bist angemeldet; deine Links öffnen sich.",
        ),
        "join": Words(
            heading="Du bist eingeladen.",
            text="Leg ein Konto an, um der Einladung zu folgen, oder nimm das, das du hast.",
            button="Beitreten",
            done="Fertig. Du bist dabei; die Links öffnen sich.",
        ),
    },
}
# By their codes, what the API refuses with, which in English it says itself; and what the page says
# of its own.
PROBLEMS: dict[str, dict[str, str]] = {
    ENGLISH: {
        "unreached": "The server cannot be reached. Check the connection, and try again.",
        "perhaps": "The first try may have worked all the same. If you cannot sign in, ask for a"
        " new link.",
        "sign-in": "Sign in",
    },
    GERMAN: {
        "unreached": "Der Server ist nicht zu erreichen. Bitte die Verbindung prüfen, dann noch"
        " einmal.",
        "perhaps": "Vielleicht hat es beim ersten Mal doch geklappt. Geht das Anmelden nicht, bitte"
        " um einen neuen Link.",
        "sign-in": "Anmelden",
        "pass-refused": "Dieser Link gilt nicht mehr, oder er ist nicht vollständig. Bitte um einen"
        " neuen.",
        "password-refused": "Bitte ein anderes Passwort: mindestens 8 Zeichen, und keines der"
        " üblichen.",
        "email-refused": "Das ist keine E-Mail-Adresse.",
        "email-taken": "Mit dieser E-Mail-Adresse gibt es schon ein Konto.",
        "sign-in-refused": "E-Mail-Adresse oder Passwort stimmt nicht.",
        "too-many-requests": "Das waren zu viele Versuche. Bitte einen Augenblick warten.",
        "sign-in-busy": "Gerade melden sich sehr viele an. Bitte gleich noch einmal.",
        "store-unavailable": "Der Server erreicht seine Datenbank nicht. Bitte gleich noch einmal.",
    },
}
# The first administrator has nobody to ask: somebody else may have registered that address.
SET_UP_PROBLEMS: dict[str, dict[str, str]] = {
    ENGLISH: {},
    GERMAN: {
        "email-taken": "Mit dieser E-Mail-Adresse gibt es schon ein Konto, vielleicht von jemand"
        " anderem. Nimm eine andere Adresse. Oder ruf auf dem Server „kurz admin reset-password“"
        " mit dieser Adresse auf, öffne den Link und setz ein neues Passwort. Danach: „kurz admin"
        " promote“ mit dieser Adresse.",
    },
}
