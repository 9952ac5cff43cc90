import { withCommon } from "./common";

/** What is said of the runs of every job, the reaper among them. */
export const runs = withCommon({
  en: {
    lastRun: "Last run",
    nextRun: "Next run",
    interval: "Interval",
    outcome: "Result",
    running: "Running now",
    succeeded: "Succeeded",
    failed: "Failed",
    skipped: "Skipped",
  },
  de: {
    lastRun: "Letzter Lauf",
    nextRun: "Nächster Lauf",
    interval: "Intervall",
    outcome: "Ergebnis",
    running: "Läuft gerade",
    succeeded: "Erfolgreich",
    failed: "Fehlgeschlagen",
    skipped: "Übersprungen",
  },
});
