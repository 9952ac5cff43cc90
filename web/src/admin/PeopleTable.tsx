import { Menu } from "@mantine/core";
import { useState } from "react";
import { useMe } from "../api/session";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { type Column, DataTable } from "../ui/DataTable";
import { IconButton } from "../ui/IconButton";
import { Tag } from "../ui/Tag";
import { timeColumn } from "../ui/timeColumn";
import styles from "./admin.module.css";
import { type PersonAct, PersonDialog } from "./PersonDialog";
import type { Person } from "./queries";
import { StatusText } from "./StatusText";

export function PeopleTable({ people }: { people: readonly Person[] }) {
  const words = useTexts(texts);
  const [asked, setAsked] = useState<{ person: Person; act: PersonAct } | null>(null);
  const ownId = useMe().data?.id;
  const columns: Column<Person>[] = [
    {
      head: words.person,
      className: styles.person,
      cell: (person) => (
        <>
          <b title={person.email}>{person.email}</b>
          {person.id === ownId && <Tag>{words.you}</Tag>}
          {person.is_admin && <Tag>{words.admin}</Tag>}
          {person.may_import_many && <Tag>{words.largeImports}</Tag>}
        </>
      ),
    },
    { head: words.status, cell: (person) => <PersonStatus person={person} /> },
    timeColumn(words.seen, (person) => person.signed_in_at, words.never),
    timeColumn(words.joined, (person) => person.created_at),
    {
      head: words.acts,
      kind: "corner",
      cell: (person) => (
        <Acts person={person} isMe={person.id === ownId} ask={(act) => setAsked({ person, act })} />
      ),
    },
  ];
  return (
    <>
      <DataTable columns={columns} rows={people} keyOf={(person) => person.id} />
      {asked && <PersonDialog {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function PersonStatus({ person }: { person: Person }) {
  const words = useTexts(texts);
  if (person.isBanned) return <StatusText status="error">{words.BANNED}</StatusText>;
  if (person.disabled_at) return <StatusText status="warning">{words.disabled}</StatusText>;
  return <StatusText status="ok">{words.ACTIVE}</StatusText>;
}

/** Nobody locks themselves out. */
function Acts(props: { person: Person; isMe: boolean; ask: (act: PersonAct) => void }) {
  const words = useTexts(texts);
  const { person, isMe, ask } = props;
  return (
    <Menu position="bottom-end" width={232} shadow="md">
      <Menu.Target>
        <IconButton icon="more" label={words.actsOf(person.email)} />
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
