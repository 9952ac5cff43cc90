import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { signIn, signUp } from "../api/session";
import { account } from "../strings/account";
import { useTexts } from "../strings/language";
import { FormProblem, useRefusal } from "../ui/states";
import styles from "./account.module.css";

const SHORTEST = 8;

interface Props {
  /** Of somebody who was signed in here before. */
  email?: string;
  /** For a new account; else to sign in. */
  isNew?: boolean;
  onDone: (email: string) => void;
}

export function Credentials({ email: known, isNew = false, onDone }: Props) {
  const words = useTexts(account);
  const [email, setEmail] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [isTried, setTried] = useState(false);
  const isShort = password.length < (isNew ? SHORTEST : 1);
  const send = useMutation({
    mutationFn: () => (isNew ? signUp : signIn)(email, password),
    onSuccess: () => onDone(email),
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
        data-autofocus={known ? undefined : true}
        autoFocus={!known}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        error={(isTried && !email && words.needEmail) || refusal.beside("email")}
      />
      <PasswordInput
        label={words.password}
        description={isNew && words.passwordHint}
        size="md"
        autoComplete={isNew ? "new-password" : "current-password"}
        data-autofocus={known ? true : undefined}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        error={
          (isTried && isShort && (isNew ? words.shortPassword : words.needPassword)) ||
          refusal.beside("password")
        }
      />
      <FormProblem error={refusal.rest} />
      <Button type="submit" size="md" loading={send.isPending}>
        {isNew ? words.make : words.signIn}
      </Button>
      {!isNew && (
        <details className={styles.forgotten}>
          <summary>{words.forgotten}</summary>
          <p>{words.forgottenText}</p>
        </details>
      )}
    </form>
  );
}
