import { Button, PasswordInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { isRefused, Problem } from "../api/client";
import { deleteAccount, useMe } from "../api/session";
import { getWorkspaces } from "../app/space";
import { account as texts } from "../strings/account";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import { Confirm } from "../ui/Confirm";
import form from "../ui/form.module.css";
import { Failed, Loading } from "../ui/states";
import { getMembers, type Member } from "../workspaces/queries";
import styles from "./account.module.css";

/** The end of an account. */
export function EndCard() {
  const words = useTexts(texts);
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Card
        title={words.end}
        text={words.endText}
        acts={
          <Button variant="outline" color="bad" onClick={() => setAsking(true)}>
            {words.endVerb}
          </Button>
        }
      />
      {isAsking && <Ask onClose={() => setAsking(false)} />}
    </>
  );
}

function Ask({ onClose }: { onClose: () => void }) {
  const words = useTexts(texts);
  const [password, setPassword] = useState("");
  const { data: me } = useMe();
  const fates = useFates();
  const isBlocked = (fates.data?.blocked.length ?? 0) > 0;
  const end = async () => {
    await deleteAccount(password).catch((error: unknown) => {
      const isWrong = isRefused(error, "password");
      throw isWrong ? new Problem(401, "password-wrong", words.wrongPassword) : error;
    });
    location.assign("/");
  };
  return (
    <Confirm
      title={words.endTitle}
      verb={words.endVerb}
      isDangerous
      isDisabled={!password || isBlocked || !fates.data}
      act={end}
      onClose={onClose}
    >
      <p>{words.endAsk}</p>
      {fates.isError && <Failed error={fates.error} retry={fates.refetch} />}
      {fates.isPending && <Loading />}
      {fates.data && <Consequences fates={fates.data} />}
      {/* A form, for who keeps passwords in the browser. */}
      <form onSubmit={(event) => event.preventDefault()}>
        <input type="email" hidden autoComplete="username" value={me?.email ?? ""} readOnly />
        <PasswordInput
          mt={16}
          label={words.endPassword}
          data-autofocus
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      </form>
    </Confirm>
  );
}

/** What becomes of each workspace: `blocked` ones have to be handed over before. */
interface Fates {
  alone: string[];
  stay: string[];
  blocked: string[];
}

function Consequences({ fates }: { fates: Fates }) {
  const words = useTexts(texts);
  const { alone, stay, blocked } = fates;
  return (
    <ul className={form.list}>
      <li>{words.endLinks}</li>
      <li>{words.endKeys}</li>
      {alone.length > 0 && <li>{words.endAlone(alone.join(", "))}</li>}
      {stay.length > 0 && <li>{words.endStay(stay.join(", "))}</li>}
      {blocked.length > 0 && (
        <li className={styles.blocked}>{words.endBlocked(blocked.join(", "))}</li>
      )}
    </ul>
  );
}

function useFates() {
  const { data: me } = useMe();
  return useQuery({
    queryKey: ["workspaces", "fates", me?.id],
    queryFn: () => getFates(me?.id ?? 0),
  });
}

async function getFates(ownId: number): Promise<Fates> {
  const fates: Fates = { alone: [], stay: [], blocked: [] };
  const alive = (await getWorkspaces()).filter(({ deleted_at }) => !deleted_at);
  const members = await Promise.all(alive.map(({ id }) => getMembers(id)));
  alive.forEach(({ name }, index) => {
    fates[fateOf(members[index] ?? [], ownId)].push(name);
  });
  return fates;
}

function fateOf(members: readonly Member[], ownId: number): keyof Fates {
  const others = members.filter(({ account_id }) => account_id !== ownId);
  if (others.length === 0) return "alone";
  const isOwner = members.some((it) => it.account_id === ownId && it.role === "owner");
  return isOwner && !others.some(({ role }) => role === "owner") ? "blocked" : "stay";
}
