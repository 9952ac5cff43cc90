"""Texts of the pages that one-time links open. The other texts are in the templates."""

from dataclasses import dataclass

from kurz.redirect.answers.languages import ENGLISH, GERMAN


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
            text="Create the first administrator account. You will be signed in right away.",
            button="Create account",
            done="Done. You are the administrator. Opening your dashboard.",
        ),
        "reset": Words(
            heading="Set a new password.",
            text="Choose a new password. This signs you out everywhere else.",
            button="Set password",
            done="Done. You are signed in. Opening your links.",
        ),
        "join": Words(
            heading="You are invited.",
            text="Create an account to accept the invitation, or use an existing one.",
            button="Join",
            done="Done. You have joined. Opening your links.",
        ),
    },
    GERMAN: {
        "setup": Words(
            heading="kurz einrichten.",
            text="Leg das erste Konto für die Verwaltung an. Danach bist du angemeldet.",
            button="Konto anlegen",
            done="Fertig. Du verwaltest kurz jetzt. Die Oberfläche öffnet sich.",
        ),
        "reset": Words(
            heading="Ein neues Passwort.",
            text="Wähle ein neues Passwort. Überall sonst wirst du abgemeldet.",
            button="Passwort setzen",
            done="Fertig. Du bist angemeldet. Deine Links öffnen sich.",
        ),
        "join": Words(
            heading="Du bist eingeladen.",
            text="Leg ein Konto an, um die Einladung anzunehmen, oder nimm das, das du hast.",
            button="Beitreten",
            done="Fertig. Du bist dabei. Die Links öffnen sich.",
        ),
    },
}
# By problem code: what the API refuses (in English, the API's own text is shown), and messages of
# the page itself.
PROBLEMS: dict[str, dict[str, str]] = {
    ENGLISH: {
        "unreached": "The server cannot be reached. Check your connection and try again.",
        "perhaps": "The first attempt may have worked. Try to sign in. If that fails, ask for a new"
        " link.",
        "sign-in": "Sign in",
    },
    GERMAN: {
        "unreached": "Der Server ist nicht zu erreichen. Bitte die Verbindung prüfen, dann noch"
        " einmal.",
        "perhaps": "Vielleicht hat es beim ersten Mal doch geklappt. Versuch dich anzumelden. Geht"
        " das nicht, bitte um einen neuen Link.",
        "sign-in": "Anmelden",
        "one-time-link-refused": "Dieser Link gilt nicht mehr, oder er ist nicht vollständig."
        " Bitte um einen neuen.",
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
# The first administrator has no one to ask: someone else may have registered that address.
SET_UP_PROBLEMS: dict[str, dict[str, str]] = {
    ENGLISH: {},
    GERMAN: {
        "email-taken": "Mit dieser E-Mail-Adresse gibt es schon ein Konto, vielleicht von jemand"
        " anderem. Nimm eine andere Adresse. Oder ruf auf dem Server „kurz admin reset-password“"
        " mit dieser Adresse auf, öffne den Link und setz ein neues Passwort. Danach: „kurz admin"
        " promote“ mit dieser Adresse.",
    },
}
