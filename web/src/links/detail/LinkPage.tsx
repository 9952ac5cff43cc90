import { Button } from "@mantine/core";
import { Link as To } from "wouter";
import { Problem } from "../../api/client";
import { pathIn } from "../../app/space";
import { Export } from "../../stats/Export";
import { useView } from "../../stats/period";
import { useReport } from "../../stats/queries";
import { Stats } from "../../stats/Stats";
import type { Subject } from "../../stats/subject";
import { useTexts } from "../../strings/language";
import { link as texts } from "../../strings/link";
import { CopyButton } from "../../ui/CopyButton";
import { Empty, Failed, Loading } from "../../ui/states";
import { useTitle } from "../../ui/title";
import { BulkFailures } from "../BulkFailures";
import type { Link } from "../queries";
import { useRunner } from "../running";
import { Checks } from "./Checks";
import { History } from "./History";
import { LinkHead } from "./LinkHead";
import styles from "./LinkPage.module.css";
import { useLink, useWhich } from "./queries";
import { Settings } from "./Settings";
import { StateBanner } from "./StateBanner";

/** One link: what it is, who follows it, where it leads, what became of it. */
export default function LinkPage() {
  const link = useLink();
  if (link.isPending) return <Loading />;
  if (link.data === undefined) {
    const isMissing = link.error instanceof Problem && [404, 422].includes(link.error.status);
    return isMissing ? <Missing /> : <Failed error={link.error} retry={link.refetch} />;
  }
  return <Page key={link.data.id} link={link.data} />;
}

function Page({ link }: { link: Link }) {
  const words = useTexts(texts);
  const { workspaceId } = useWhich();
  const runner = useRunner(workspaceId);
  const view = useView();
  const subject: Subject = { kind: "link", workspaceId, id: link.id };
  const report = useReport(subject, view.period, link.created_at);
  return (
    <>
      <LinkHead link={link} runner={runner}>
        <Export subject={subject} report={report.data} />
      </LinkHead>
      <StateBanner link={link} runner={runner} />
      <Stats
        subject={subject}
        view={view}
        beginsAt={link.created_at}
        {...(link.status === "ACTIVE"
          ? { emptyAct: <CopyButton text={link.short_url} /> }
          : { emptyText: words.nobodyCame })}
      />
      <div className={styles.below}>
        <div>
          <Checks link={link} />
          <History />
        </div>
        <Settings link={link} />
      </div>
      {runner.failed && <BulkFailures outcome={runner.failed} onClose={runner.dismiss} />}
    </>
  );
}

/** Not there, or somebody else's: that is the same to who asks. */
function Missing() {
  const words = useTexts(texts);
  const { workspaceId } = useWhich();
  useTitle(words.missing);
  return (
    <>
      <h1 className="unseen">{words.aLink}</h1>
      <Empty icon="search" title={words.missing} text={words.missingText}>
        <Button component={To} href={pathIn(workspaceId, "/links")}>
          {words.toLinks}
        </Button>
      </Empty>
    </>
  );
}
