import { Button } from "@mantine/core";
import { useState } from "react";
import { admin } from "../strings/admin";
import { reports as texts } from "../strings/adminReports";
import { useTexts } from "../strings/language";
import { type Column, DataTable } from "../ui/DataTable";
import { timeColumn } from "../ui/timeColumn";
import type { Bans } from "./queries";
import { useEmails } from "./queries";
import styles from "./ReportsPage.module.css";
import { type Lifted, Unban } from "./Unban";

interface Row {
  kind: "host" | "person" | "link";
  name: string;
  why: string | null;
  reason: string | null;
  since: string;
  by: number | null;
  /** None where another ban or a list has to go first. */
  lifted: Lifted | null;
}

/** A page of bans: hosts and people come before links. */
export function BanTable({ bans }: { bans: Bans }) {
  const words = useTexts(texts);
  const common = useTexts(admin);
  const emailOf = useEmails();
  const rows = useRows(bans);
  const [asked, setAsked] = useState<Lifted | null>(null);
  const columns: Column<Row>[] = [
    {
      head: words.name,
      className: styles.subject,
      cell: (row) => (
        <>
          <span className={row.kind === "person" ? undefined : "mono"}>{row.name}</span>
          {row.why && <div className={styles.meta}>{row.why}</div>}
        </>
      ),
    },
    { head: words.kind, cell: (row) => words[row.kind] },
    {
      head: common.reason,
      label: (row) => (row.reason ? common.reason : undefined),
      className: styles.reason,
      cell: (row) => row.reason,
    },
    timeColumn(words.BANNED, (row) => row.since),
    {
      head: common.by,
      kind: "dim",
      label: true,
      cell: ({ by }) => (by === null ? common.operator : (emailOf(by) ?? common.unknownPerson)),
    },
    {
      head: words.unban,
      kind: "acts",
      cell: (row) =>
        row.lifted && (
          <Button
            variant="default"
            size="xs"
            aria-label={words.unbanOf(row.name)}
            onClick={() => setAsked(row.lifted)}
          >
            {words.unban}
          </Button>
        ),
    },
  ];
  return (
    <>
      <DataTable
        columns={columns}
        rows={rows}
        keyOf={(row) => `${row.kind} ${row.name} ${row.since}`}
      />
      {asked && <Unban lifted={asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function useRows(bans: Bans): Row[] {
  const words = useTexts(texts);
  const { unknownPerson } = useTexts(admin);
  const emailOf = useEmails();
  const of = (ban: Bans["hosts"][number]) => ({
    reason: ban.reason,
    since: ban.banned_at,
    by: ban.banned_by,
    why: ban.is_pending ? words.pending : null,
  });
  const hosts = bans.hosts.map((ban): Row => {
    const lifted: Lifted = { kind: "host", name: ban.subject, id: ban.subject };
    return { ...of(ban), kind: "host", name: ban.subject, lifted };
  });
  const people = bans.accounts.map((ban): Row => {
    const name = emailOf(Number(ban.subject)) ?? unknownPerson;
    return { ...of(ban), kind: "person", name, lifted: { kind: "person", name, id: ban.subject } };
  });
  const whys = {
    admin: () => null,
    list: () => words.becauseList,
    host: (host: string | null) => words.becauseHost(host ?? ""),
    account: () => words.becausePerson,
  };
  const links = bans.links.map((ban): Row => {
    const name = ban.short_code ? `/${ban.short_code}` : String(ban.link_id);
    return {
      kind: "link",
      name,
      why: whys[ban.cause](ban.subject),
      reason: ban.reason,
      since: ban.banned_at,
      by: ban.banned_by,
      lifted: ban.cause === "admin" ? { kind: "link", name, id: String(ban.link_id) } : null,
    };
  });
  return [...hosts, ...people, ...links];
}
