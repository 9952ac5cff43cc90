import { Button, NativeSelect } from "@mantine/core";
import { useState } from "react";
import { reports as texts } from "../strings/adminReports";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Pager, usePages, useWayBack } from "../ui/Pager";
import { Empty, Failed, Loading } from "../ui/states";
import { AdminFrame } from "./AdminFrame";
import { BanHost } from "./BanHost";
import { BanTable } from "./BanTable";
import { type Group, groupByLink } from "./groups";
import { type ReportState, useBans, useReports } from "./queries";
import { ReportGroup } from "./ReportGroup";

const STATES: readonly ReportState[] = ["open", "upheld", "dismissed"];

/** What people reported, and what is banned. */
export default function ReportsPage() {
  return (
    <AdminFrame page="reports">
      <Queue />
      <Bans />
    </AdminFrame>
  );
}

function Queue() {
  const words = useTexts(texts);
  const [state, setState] = useState<ReportState>("open");
  const choice = (
    <NativeSelect
      aria-label={words.show}
      value={state}
      onChange={(event) => setState(event.currentTarget.value as ReportState)}
      data={STATES.map((value) => ({ value, label: words[value] }))}
    />
  );
  return (
    <Card title={words.queue} acts={choice} isFull>
      <Groups key={state} state={state} />
    </Card>
  );
}

function Groups({ state }: { state: ReportState }) {
  const words = useTexts(texts);
  const pages = usePages(state);
  const reports = useReports(state, pages.cursor);
  const { isPlaceholderData } = reports;
  const isGone = useWayBack(pages, reports.data?.reports.length === 0 && !isPlaceholderData);
  if (reports.isLoadingError) return <Failed error={reports.error} retry={reports.refetch} />;
  if (reports.isPending || isGone) return <Loading />;
  const groups: Group[] = groupByLink(reports.data.reports);
  if (!groups.length) {
    return state === "open" ? (
      <Empty icon="check" title={words.noOpen} text={words.noOpenText} />
    ) : (
      <Empty icon="clock" title={words.noDecided} text={words.noDecidedText} />
    );
  }
  return (
    <>
      {groups.map((group) => (
        <ReportGroup key={group.first.id} group={group} />
      ))}
      <Pager pages={pages} next={reports.data.next_cursor} isBusy={isPlaceholderData} />
    </>
  );
}

function Bans() {
  const words = useTexts(texts);
  const pages = usePages("");
  const [isAsking, setAsking] = useState(false);
  const bans = useBans(pages.cursor);
  const act = (
    <Button variant="default" onClick={() => setAsking(true)}>
      {words.banAHost}…
    </Button>
  );
  const { isPlaceholderData } = bans;
  const isEmpty =
    bans.data && !bans.data.hosts.length && !bans.data.accounts.length && !bans.data.links.length;
  const isGone = useWayBack(pages, isEmpty === true && !isPlaceholderData);
  return (
    <>
      {isAsking && <BanHost onClose={() => setAsking(false)} />}
      {isEmpty && !isGone ? (
        <Card title={words.bans} text={words.noBans} acts={act} />
      ) : (
        <Card title={words.bans} text={words.bansText} acts={act} isFull>
          {(bans.isPending || isGone) && <Loading />}
          {bans.isLoadingError && <Failed error={bans.error} retry={bans.refetch} />}
          {bans.data && <BanTable bans={bans.data} />}
          {bans.data && (
            <Pager pages={pages} next={bans.data.next_cursor} isBusy={isPlaceholderData} />
          )}
        </Card>
      )}
    </>
  );
}
