import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useState } from "react";
import { people as texts } from "../strings/adminPeople";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { CutNote } from "../ui/CutNote";
import { useFormats } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Empty, Failed, Loading } from "../ui/states";
import { AdminFrame } from "./AdminFrame";
import styles from "./admin.module.css";
import { Invitations } from "./Invitations";
import { OneTime } from "./OneTime";
import { PeopleTable } from "./PeopleTable";
import { type Person, useAccounts, useBans } from "./queries";
import { Workspaces } from "./Workspaces";

const SHOWN = 100; // rows at first: there may be thousands of accounts

const KINDS = {
  all: () => true,
  admins: (person: Person) => person.is_admin,
  disabledOnes: (person: Person) => person.disabled_at !== null && !person.isBanned,
  bannedOnes: (person: Person) => person.isBanned,
};

/** Who has an account, who is invited, and which workspaces there are. */
export default function PeoplePage() {
  const words = useTexts(texts);
  const [isInviting, setInviting] = useState(false);
  return (
    <AdminFrame
      page="people"
      acts={
        <Button leftSection={<Icon name="plus" size={18} />} onClick={() => setInviting(true)}>
          {words.invite}
        </Button>
      }
    >
      <Accounts />
      <Invitations />
      <Workspaces />
      {isInviting && (
        <OneTime
          title={words.inviteTitle}
          ask={words.inviteAsk}
          verb={words.inviteMake}
          text={words.inviteText}
          path="/api/v1/admin/invitations"
          onClose={() => setInviting(false)}
        />
      )}
    </AdminFrame>
  );
}

function Accounts() {
  const words = useTexts(texts);
  const accounts = useAccounts();
  const bans = useBans(null);
  const [search, setSearch] = useState("");
  const [kind, setKind] = useState<keyof typeof KINDS>("all");
  const [limit, setLimit] = useState(SHOWN);
  const { number } = useFormats();
  if (accounts.isLoadingError) return <Failed error={accounts.error} retry={accounts.refetch} />;
  if (bans.isLoadingError) return <Failed error={bans.error} retry={bans.refetch} />;
  if (accounts.isPending || bans.isPending) return <Loading />;
  const banned = new Set(bans.data.accounts.map(({ subject }) => Number(subject)));
  const wanted = search.trim().toLowerCase();
  const found = accounts.data
    .map((account) => ({ ...account, isBanned: banned.has(account.id) }))
    .filter((person) => person.email.includes(wanted) && KINDS[kind](person));
  const count = words.count(number(found.length), number(accounts.data.length));
  return (
    <>
      <search className={styles.filter}>
        <TextInput
          className={styles.search ?? ""}
          type="search"
          aria-label={words.search}
          placeholder={words.searchHint}
          leftSection={<Icon name="search" size={18} />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <NativeSelect
          aria-label={words.show}
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value as keyof typeof KINDS)}
          data={Object.keys(KINDS).map((value) => ({
            value,
            label: words[value as keyof typeof KINDS],
          }))}
        />
      </search>
      <Card title={words.accounts} acts={<span className={styles.count}>{count}</span>} isFull>
        {found.length ? (
          <PeopleTable people={found.slice(0, limit)} />
        ) : (
          <Empty icon="search" title={words.noMatch} text={words.noMatchText} />
        )}
        <CutNote of={accounts.data} />
        {found.length > limit && (
          <div className={styles.more}>
            <Button variant="subtle" onClick={() => setLimit(limit + SHOWN)}>
              {words.more(number(Math.min(SHOWN, found.length - limit)))}
            </Button>
          </div>
        )}
      </Card>
    </>
  );
}
