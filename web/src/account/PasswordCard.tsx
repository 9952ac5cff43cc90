import { Button, PasswordInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Problem } from "../api/client";
import { changePassword, useMe } from "../api/session";
import { account as texts } from "../strings/account";
import { useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import form from "../ui/form.module.css";
import { FormProblem } from "../ui/states";
import { toast } from "../ui/toasts";

const SHORTEST = 8;

export function PasswordCard() {
  const words = useTexts(texts);
  const { data: me } = useMe();
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const [isTried, setTried] = useState(false);
  const isShort = next.length < SHORTEST;
  const change = useMutation({
    mutationFn: () => changePassword(old, next),
    onSuccess: () => {
      setOld("");
      setNext("");
      setTried(false);
      toast(words.changed);
    },
  });
  const isWrong = isRefusal(change.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (old && !isShort) change.mutate();
  };
  return (
    <Card title={words.changePassword} text={words.changeText}>
      <form className={`${form.form} ${form.narrow}`} onSubmit={submit} noValidate>
        {/* For who keeps passwords in the browser. */}
        <input type="email" hidden autoComplete="username" value={me?.email ?? ""} readOnly />
        <PasswordInput
          label={words.oldPassword}
          autoComplete="current-password"
          value={old}
          onChange={(event) => {
            setOld(event.currentTarget.value);
            change.reset();
          }}
          error={(isTried && !old && words.needPassword) || (isWrong && words.wrongPassword)}
        />
        <PasswordInput
          label={words.newPassword}
          description={words.passwordHint}
          autoComplete="new-password"
          value={next}
          onChange={(event) => setNext(event.currentTarget.value)}
          error={isTried && isShort && words.shortPassword}
        />
        {!isWrong && <FormProblem error={change.error} />}
        <div className={`${form.acts} ${form.left}`}>
          <Button type="submit" loading={change.isPending}>
            {words.change}
          </Button>
        </div>
      </form>
    </Card>
  );
}

/** Whether it was the present password that did not fit. */
function isRefusal(error: unknown): boolean {
  return error instanceof Problem && error.code === "sign-in-refused";
}
