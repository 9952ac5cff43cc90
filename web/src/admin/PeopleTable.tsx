import { Menu } from "@mantine/core";
import { useState } from "react";
import { useMe } from "../api/session";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Icon } from "../ui/Icon";
import table from "../ui/table.module.css";
import { When } from "../ui/When";
import styles from "./admin.module.css";
import { type PersonAct, PersonDialog } from "./PersonDialog";
import type { Account } from "./queries";
import { StatusText } from "./StatusText";

export type Person = Account & { isBanned: boolean };

export function PeopleTable({ people }: { people: readonly Person[] }) {
  const words = useTexts(texts);
  const [asked, setAsked] = useState<{ person: Person; act: PersonAct } | null>(null);
  return (
    <>
      <table className={table.table}>
        <thead>
          <tr>
            <th scope="col">{words.person}</th>
            <th scope="col">{words.status}</th>
            <th scope="col">{words.seen}</th>
            <th scope="col">{words.since}</th>
            <th scope="col">
              <span className="unseen">{words.acts}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {people.map((person) => (
            <Row key={person.id} person={person} ask={(act) => setAsked({ person, act })} />
          ))}
        </tbody>
      </table>
      {asked && <PersonDialog {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function Row({ person, ask }: { person: Person; ask: (act: PersonAct) => void }) {
  const words = useTexts(texts);
  const isMe = useMe().data?.id === person.id;
  return (
    <tr>
      <td className={styles.person}>
        <b title={person.email}>{person.email}</b>
        {isMe && <span className={styles.tag}>{words.you}</span>}
        {person.is_admin && <span className={styles.tag}>{words.admin}</span>}
        {person.may_import_many && <span className={styles.tag}>{words.largeImports}</span>}
      </td>
      <td>
        <PersonStatus person={person} />
      </td>
      <td className={table.dim} data-label={words.seen}>
        {person.signed_in_at ? <When at={person.signed_in_at} /> : words.never}
      </td>
      <td className={table.dim} data-label={words.since}>
        <When at={person.created_at} />
      </td>
      <td className={`${table.acts} ${styles.corner}`}>
        <Acts person={person} isMe={isMe} ask={ask} />
      </td>
    </tr>
  );
}

function PersonStatus({ person }: { person: Person }) {
  const words = useTexts(texts);
  if (person.isBanned) return <StatusText status="error">{words.banned}</StatusText>;
  if (person.disabled_at) return <StatusText status="warning">{words.disabled}</StatusText>;
  return <StatusText status="ok">{words.active}</StatusText>;
}

/** Nobody locks themselves out. */
function Acts(props: { person: Person; isMe: boolean; ask: (act: PersonAct) => void }) {
  const words = useTexts(texts);
  const { person, isMe, ask } = props;
  const label = words.actsOf(person.email);
  return (
    <Menu position="bottom-end" width={232} shadow="md">
      <Menu.Target>
        <button type="button" className={styles.menu} aria-label={label} title={label}>
          <Icon name="more" />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => ask("reset")}>{words.reset}…</Menu.Item>
        <Menu.Item onClick={() => ask("quota")}>{words.editQuota}…</Menu.Item>
        <Menu.Item onClick={() => ask(person.may_import_many ? "limitImports" : "allowImports")}>
          {person.may_import_many ? words.limitImports : words.allowImports}…
        </Menu.Item>
        {!isMe && (
          <>
            <Menu.Item onClick={() => ask(person.is_admin ? "unmakeAdmin" : "makeAdmin")}>
              {person.is_admin ? words.unmakeAdmin : words.makeAdmin}…
            </Menu.Item>
            <Menu.Divider />
            {!person.isBanned && (
              <Menu.Item onClick={() => ask(person.disabled_at ? "enable" : "disable")}>
                {person.disabled_at ? words.enable : words.disable}…
              </Menu.Item>
            )}
            <Menu.Item onClick={() => ask(person.isBanned ? "unban" : "ban")}>
              {person.isBanned ? words.unban : words.ban}…
            </Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
