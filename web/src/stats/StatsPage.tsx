import { Button, NativeSelect } from "@mantine/core";
import { Link, useSearchParams } from "wouter";
import { useMe } from "../api/session";
import { pathIn, useWorkspaceId } from "../app/space";
import { useTags } from "../links/queries";
import { useTexts } from "../strings/language";
import { stats as texts } from "../strings/stats";
import { useCutChoice } from "../ui/CutNote";
import { PageHead } from "../ui/PageHead";
import { changed } from "../ui/query";
import { Failed } from "../ui/states";
import { Export } from "./Export";
import { useView } from "./period";
import { useBeginning, useReport } from "./queries";
import { Stats } from "./Stats";
import styles from "./StatsPage.module.css";
import { Switch } from "./Switch";
import type { Subject } from "./subject";

/** The numbers of a place: of all its links, or of those with a tag; for administrators, of all. */
export default function StatsPage() {
  const words = useTexts(texts);
  const workspaceId = useWorkspaceId();
  const me = useMe();
  const [query, setQuery] = useSearchParams();
  const isAdmin = workspaceId === null && me.data?.is_admin === true;
  const tag = query.get("tag");
  const subject = subjectOf(workspaceId, isAdmin && query.get("of") === "installation", tag);
  const view = useView();
  const isOfAllTime = view.period.preset === "all";
  const beginning = useBeginning(subject, isOfAllTime);
  const beginsAt = beginning.data ?? null;
  const report = useReport(subject, view.period, beginsAt);
  const isOfAll = subject.kind === "installation";
  return (
    <>
      <PageHead title={isOfAll ? words.titleOfAll : words.title}>
        <Export subject={subject} report={report.data} />
      </PageHead>
      <div className={styles.filter}>
        {isAdmin && (
          <Switch
            label={words.ofWhat}
            options={[
              { value: "mine", label: words.ofMine },
              { value: "installation", label: words.ofInstallation },
            ]}
            value={isOfAll ? "installation" : "mine"}
            onChange={(of) => setQuery(of === "mine" ? {} : { of })}
          />
        )}
        {!isOfAll && <TagSelect workspaceId={workspaceId} tag={tag} />}
      </div>
      {isOfAllTime && beginning.isLoadingError ? (
        <Failed error={beginning.error} retry={beginning.refetch} />
      ) : (
        <Stats
          key={JSON.stringify(subject)}
          subject={subject}
          view={view}
          beginsAt={beginsAt}
          emptyAct={
            <Button component={Link} href={pathIn(workspaceId, "/links")}>
              {words.toLinks}
            </Button>
          }
        />
      )}
    </>
  );
}

function subjectOf(workspaceId: number | null, isOfAll: boolean, tag: string | null): Subject {
  if (isOfAll) return { kind: "installation" };
  if (tag) return { kind: "tag", workspaceId, tag };
  return { kind: "space", workspaceId };
}

function TagSelect({ workspaceId, tag }: { workspaceId: number | null; tag: string | null }) {
  const words = useTexts(texts);
  const [, setQuery] = useSearchParams();
  const tags = useTags(workspaceId);
  const cutOf = useCutChoice();
  const known = tags.data?.map((it) => it.tag) ?? [];
  if (known.length === 0 && tag === null) return null;
  const choose = (wanted: string) => setQuery((before) => changed(before, { tag: wanted }));
  return (
    <NativeSelect
      className={styles.tag ?? ""}
      aria-label={words.tag}
      value={tag ?? ""}
      onChange={(event) => choose(event.currentTarget.value)}
      data={[
        { value: "", label: words.allLinks },
        ...[...new Set([...known, ...(tag ? [tag] : [])])].map((it) => ({ value: it, label: it })),
        ...cutOf(known),
      ]}
    />
  );
}
