import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import { isSignUpOpen } from "../api/server";
import { signUp } from "../api/session";
import { account } from "../strings/account";
import { useTexts } from "../strings/language";
import { FormProblem, useRefusal } from "../ui/states";
import styles from "./account.module.css";
import { Entrance } from "./Entrance";
import { SetUpNotice } from "./SetUpNotice";

const SHORTEST = 8;

export function SignUpPage() {
  const words = useTexts(account);
  return (
    <Entrance title={words.signUp} heading={words.join} text={words.joinText}>
      <SetUpNotice />
      {isSignUpOpen ? <SignUpForm /> : <p>{words.closed}</p>}
      <p>
        {words.hasAccount} <Link href="/sign-in">{words.signIn}</Link>
      </p>
    </Entrance>
  );
}

function SignUpForm() {
  const words = useTexts(account);
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [isTried, setTried] = useState(false);
  const isShort = password.length < SHORTEST;
  const send = useMutation({
    mutationFn: () => signUp(email, password),
    onSuccess: () => {
      queries.clear(); // of whoever was here before
      go("/links");
    },
  });
  const refusal = useRefusal(send.error, "email", "password");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (email && !isShort) send.mutate();
  };
  return (
    <form className={styles.form} onSubmit={submit} noValidate>
      <TextInput
        label={words.email}
        type="email"
        size="md"
        autoComplete="username"
        autoFocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        error={(isTried && !email && words.needEmail) || refusal.beside("email")}
      />
      <PasswordInput
        label={words.password}
        description={words.passwordHint}
        size="md"
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        error={(isTried && isShort && words.shortPassword) || refusal.beside("password")}
      />
      <FormProblem error={refusal.rest} />
      <Button type="submit" size="md" loading={send.isPending}>
        {words.make}
      </Button>
    </form>
  );
}
