import { Button, NativeSelect } from "@mantine/core";
import { useSearchParams } from "wouter";
import { admin } from "../strings/admin";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Pager, usePages, useWayBack } from "../ui/Pager";
import { Empty, Failed, Loading } from "../ui/states";
import { AdminFrame } from "./AdminFrame";
import styles from "./admin.module.css";
import { DeedTable } from "./DeedTable";
import { ACTS } from "./deeds";
import { type DeedFilter, useAccounts, useDeeds } from "./queries";

const VIAS = ["api", "cli", "job"] as const;

/** Who did what. The filter stands in the address. */
export default function AuditPage() {
  const [query, setQuery] = useSearchParams();
  const account = Number(query.get("account"));
  const filter: DeedFilter = {
    act: ACTS.find((act) => act === query.get("act")) ?? null,
    account: Number.isSafeInteger(account) && account > 0 ? account : null,
    via: VIAS.find((via) => via === query.get("via")) ?? null,
  };
  const change = (part: keyof DeedFilter, value: string) =>
    setQuery((before) => {
      const next = new URLSearchParams(before);
      if (value) next.set(part, value);
      else next.delete(part);
      return next;
    });
  return (
    <AdminFrame page="audit">
      <Filter filter={filter} change={change} />
      <Deeds key={query.toString()} filter={filter} clear={() => setQuery({})} />
    </AdminFrame>
  );
}

function Filter(props: {
  filter: DeedFilter;
  change: (part: keyof DeedFilter, value: string) => void;
}) {
  const words = useTexts(admin);
  const accounts = useAccounts();
  const { filter, change } = props;
  const vias = { api: words.viaApi, cli: words.viaCli, job: words.viaJob };
  return (
    <search className={styles.filter}>
      <NativeSelect
        aria-label={words.what}
        value={filter.act ?? ""}
        onChange={(event) => change("act", event.currentTarget.value)}
        data={[
          { value: "", label: words.anyAct },
          ...ACTS.map((value) => ({ value, label: words[value] })),
        ]}
      />
      <NativeSelect
        aria-label={words.who}
        value={filter.account?.toString() ?? ""}
        onChange={(event) => change("account", event.currentTarget.value)}
        data={[
          { value: "", label: words.anybody },
          ...(accounts.data ?? [])
            .filter(({ is_admin, id }) => is_admin || id === filter.account)
            .map(({ id, email }) => ({ value: String(id), label: email })),
        ]}
      />
      <NativeSelect
        aria-label={words.via}
        value={filter.via ?? ""}
        onChange={(event) => change("via", event.currentTarget.value)}
        data={[
          { value: "", label: words.anyWay },
          ...VIAS.map((value) => ({ value, label: vias[value] })),
        ]}
      />
    </search>
  );
}

function Deeds({ filter, clear }: { filter: DeedFilter; clear: () => void }) {
  const words = useTexts(admin);
  const pages = usePages<number>(JSON.stringify(filter));
  const deeds = useDeeds(filter, pages.cursor);
  const isGone = useWayBack(pages, deeds.data?.deeds.length === 0 && !deeds.isPlaceholderData);
  if (deeds.isLoadingError) return <Failed error={deeds.error} retry={deeds.refetch} />;
  if (deeds.isPending || isGone) return <Loading />;
  if (!deeds.data.deeds.length) {
    if (!filter.act && !filter.account && !filter.via) {
      return <Empty icon="clock" title={words.noDeeds} text={words.noDeedsText} />;
    }
    return (
      <Empty icon="search" title={words.noMatch} text={words.noMatchText}>
        <Button variant="default" onClick={clear}>
          {words.clear}
        </Button>
      </Empty>
    );
  }
  return (
    <Card title={words.audit} text={words.auditText} isFull>
      <DeedTable deeds={deeds.data.deeds} />
      <Pager pages={pages} next={deeds.data.next_before} isBusy={deeds.isPlaceholderData} />
    </Card>
  );
}
