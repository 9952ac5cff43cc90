// What the pages of numbers ask the server. Keys begin with "stats" and what they are about.
import { useQuery } from "@tanstack/react-query";
import { useNow } from "../ui/format";
import { DAY_MS, MOST_DAYS, type Period, questionOf } from "./period";
import { getReport, type Subject } from "./subject";

/** The numbers of a period. While those of another one are on their way, the last ones stay. */
export function useReport(subject: Subject, period: Period, beginsAt: string | null) {
  const now = useNow();
  const question = questionOf(period, now, beginsAt);
  return useQuery({
    queryKey: ["stats", subject, "report", question],
    queryFn: ({ signal }) => getReport(subject, question ?? {}, signal),
    enabled: question !== null,
    placeholderData: (last, asked) => {
      const about = asked?.queryKey[1];
      return JSON.stringify(about) === JSON.stringify(subject) ? last : undefined;
    },
  });
}

/** When the first click was, by the month; for what has no birthday. */
export function useBeginning(subject: Subject, isEnabled: boolean) {
  return useQuery({
    queryKey: ["stats", subject, "beginning"],
    queryFn: async ({ signal }) => {
      const from = new Date(Date.now() - MOST_DAYS * DAY_MS).toISOString().slice(0, 10);
      const report = await getReport(subject, { from, interval: "month", top: 1 }, signal);
      const first = report.series.find((point) => point.clicks > 0);
      return first?.start ?? new Date().toISOString();
    },
    enabled: isEnabled,
    staleTime: Number.POSITIVE_INFINITY,
  });
}
