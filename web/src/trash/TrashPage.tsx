import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useSearchParams } from "wouter";
import { apiOf, need } from "../api/client";
import { useMayEditLinks, useWorkspaceId } from "../app/space";
import { Search } from "../links/list/LinkFilter";
import { LinkPager } from "../links/list/LinkPager";
import { type Filter, useLinks } from "../links/queries";
import { useTexts } from "../strings/language";
import { links } from "../strings/links";
import { trash } from "../strings/trash";
import { Confirm } from "../ui/Confirm";
import { useFormats } from "../ui/format";
import { PageHead } from "../ui/PageHead";
import { usePages, useWayBack } from "../ui/Pager";
import { Empty, Failed, Loading } from "../ui/states";
import { toast } from "../ui/toasts";
import { TrashList } from "./TrashList";
import styles from "./TrashPage.module.css";

const ALL: Filter = {
  search: "",
  status: "DELETED",
  tag: null,
  check: null,
  from: null,
  to: null,
  sort: "-updated_at",
};

/** What was deleted and what expired long ago, latest first, until it is purged. */
export default function TrashPage() {
  const words = useTexts(trash);
  const linkWords = useTexts(links);
  const workspaceId = useWorkspaceId();
  const mayWrite = useMayEditLinks(workspaceId);
  const [query, setQuery] = useSearchParams();
  const search = query.get("search") ?? "";
  const where = JSON.stringify([workspaceId, search]);
  const pages = usePages(where);
  const page = useLinks(workspaceId, { ...ALL, search }, pages.cursor);
  const isGone = useWayBack(pages, page.data?.links.length === 0 && !page.isPlaceholderData);
  const [isEmptying, setEmptying] = useState(false);
  const isEmpty = page.data?.total === 0 && !search;
  return (
    <>
      <PageHead title={words.title}>
        {mayWrite && page.data && !isEmpty && (
          <Button variant="outline" color="bad" onClick={() => setEmptying(true)}>
            {words.empty}
          </Button>
        )}
      </PageHead>
      {page.data && !isEmpty && (
        <div className={styles.head}>
          <p>{words.text}</p>
          <Search
            value={search}
            onChange={(text) => setQuery(text ? { search: text } : {}, { replace: true })}
          />
        </div>
      )}
      {page.isLoadingError ? (
        <Failed error={page.error} retry={page.refetch} />
      ) : page.isPending || isGone ? (
        <Loading />
      ) : isEmpty ? (
        <Empty icon="bin" title={words.none} text={words.noneText} />
      ) : page.data.links.length === 0 ? (
        <Empty icon="search" title={linkWords.noMatch} text={linkWords.noMatchText} />
      ) : (
        <TrashList
          workspaceId={workspaceId}
          mayWrite={mayWrite}
          where={where}
          links={page.data.links}
          isBusy={page.isPlaceholderData}
          pager={<LinkPager pages={pages} page={page.data} isBusy={page.isPlaceholderData} />}
        />
      )}
      {isEmptying && <EmptyTrash workspaceId={workspaceId} onClose={() => setEmptying(false)} />}
    </>
  );
}

function EmptyTrash({ workspaceId, onClose }: { workspaceId: number | null; onClose: () => void }) {
  const words = useTexts(trash);
  const { atLeast } = useTexts(links);
  const { number } = useFormats();
  const queries = useQueryClient();
  // Of all, whatever is searched for.
  const page = useLinks(workspaceId, ALL, null);
  const total = number(page.data?.total ?? 0);
  const act = async () => {
    let count = 0;
    try {
      for (let isEmpty = false; !isEmpty; ) {
        const answer = await need(apiOf(workspaceId).DELETE("/api/v1/trash"));
        count += answer.purged;
        isEmpty = answer.is_empty;
      }
      toast(words.purgeDone(number(count)));
    } finally {
      await queries.invalidateQueries({ queryKey: ["links"] });
    }
  };
  return (
    <Confirm
      title={words.emptyTitle}
      verb={words.empty}
      isDangerous
      isDisabled={!page.data || page.isPlaceholderData}
      act={act}
      onClose={onClose}
    >
      <p>{words.emptyText(page.data?.is_total_exact === false ? atLeast(total) : total)}</p>
    </Confirm>
  );
}
