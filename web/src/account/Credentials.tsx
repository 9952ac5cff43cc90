import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { signIn } from "../api/session";
import { account } from "../strings/account";
import { useTexts } from "../strings/language";
import { FormProblem } from "../ui/states";
import styles from "./account.module.css";

/** `email` given: somebody who was signed in here before. */
export function SignInForm({
  email: known,
  onDone,
}: {
  email?: string;
  onDone: (email: string) => void;
}) {
  const words = useTexts(account);
  const [email, setEmail] = useState(known ?? "");
  const [password, setPassword] = useState("");
  const [isTried, setTried] = useState(false);
  const send = useMutation({
    mutationFn: () => signIn(email, password),
    onSuccess: () => onDone(email),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (email && password) send.mutate();
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
        error={isTried && !email && words.needEmail}
      />
      <PasswordInput
        label={words.password}
        size="md"
        autoComplete="current-password"
        data-autofocus={known ? true : undefined}
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        error={isTried && !password && words.needPassword}
      />
      <FormProblem error={send.error} />
      <Button type="submit" size="md" loading={send.isPending}>
        {words.signIn}
      </Button>
      <details className={styles.forgotten}>
        <summary>{words.forgotten}</summary>
        <p>{words.forgottenText}</p>
      </details>
    </form>
  );
}
