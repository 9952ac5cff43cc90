import { Button } from "@mantine/core";
import { useState } from "react";
import { admin } from "../strings/admin";
import { reports as texts } from "../strings/adminReports";
import { useTexts } from "../strings/language";
import table from "../ui/table.module.css";
import { When } from "../ui/When";
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
  return (
    <>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.subject}</th>
            <th scope="col">{words.kind}</th>
            <th scope="col">{common.reason}</th>
            <th scope="col">{words.since}</th>
            <th scope="col">{common.by}</th>
            <th scope="col">
              <span className="unseen">{words.unban}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.kind} ${row.name} ${row.since}`}>
              <td className={styles.subject}>
                <span className={row.kind === "person" ? undefined : "mono"}>{row.name}</span>
                {row.why && <div className={styles.meta}>{row.why}</div>}
              </td>
              <td>{words[row.kind]}</td>
              <td className={styles.reason} data-label={row.reason ? common.reason : undefined}>
                {row.reason}
              </td>
              <td className={table.dim} data-label={words.since}>
                <When at={row.since} />
              </td>
              <td className={table.dim} data-label={common.by}>
                {row.by === null ? common.operator : (emailOf(row.by) ?? common.unknownPerson)}
              </td>
              <td className={table.acts}>
                {row.lifted && (
                  <Button
                    variant="default"
                    size="xs"
                    aria-label={words.unbanOf(row.name)}
                    onClick={() => setAsked(row.lifted)}
                  >
                    {words.unban}
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
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
