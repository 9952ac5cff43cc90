import type { ReactNode } from "react";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { Empty, Failed } from "../ui/states";
import { Breakdowns } from "./Breakdowns";
import { Latest } from "./Latest";
import { LiveDot } from "./LiveDot";
import { useFresh, useLive } from "./live";
import { Numbers } from "./Numbers";
import type { View } from "./period";
import { useReport } from "./queries";
import type { Subject } from "./subject";
import { Timeline } from "./Timeline";
import { TopLinks } from "./TopLinks";

interface Props {
  subject: Subject;
  view: View;
  /** Where "all" begins; null: not known yet. */
  beginsAt: string | null;
  /** What is said, and what there is to do, while nobody has clicked. */
  emptyText?: string;
  emptyAct?: ReactNode;
}

/** All that is told of clicks, growing while one looks. */
export function Stats({ subject, view, beginsAt, emptyText, emptyAct }: Props) {
  const words = useTexts(texts);
  const report = useReport(subject, view.period, beginsAt);
  const live = useLive(subject);
  useFresh(report.data?.all_time.clicks, live.now, report.refetch);
  const isOfMany = subject.kind !== "link";
  if (report.isLoadingError) {
    // A part of time that the server refuses will not do better the next time.
    const retry = view.period.part === null ? report.refetch : view.zoomOut;
    return <Failed error={report.error} retry={retry} />;
  }
  if (report.data?.all_time.clicks === 0) {
    return (
      <Empty
        icon="chart"
        title={words.none}
        text={emptyText ?? (isOfMany ? words.noneTextOfMany : words.noneText)}
      >
        {emptyAct}
        <LiveDot state={live.state} />
      </Empty>
    );
  }
  return (
    <>
      <Numbers report={report.data} live={live} />
      <Timeline report={report.data} view={view} isBusy={report.isPlaceholderData} />
      {report.data?.links && (
        <TopLinks
          links={report.data.links}
          workspaceId={subject.kind === "installation" ? undefined : subject.workspaceId}
        />
      )}
      {report.data && <Breakdowns report={report.data} shown={view.shown} />}
      <Latest now={live.now} isOfMany={isOfMany} />
    </>
  );
}
