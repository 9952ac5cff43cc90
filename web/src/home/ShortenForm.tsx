import { Button } from "@mantine/core";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { home } from "../strings/home";
import { useTexts } from "../strings/language";
import { FormProblem } from "../ui/states";
import styles from "./HomePage.module.css";
import { isAddress, type Shorten } from "./shorten";

/** One field, one button. An address pasted anywhere in the page is shortened at once. */
export function ShortenForm({ shorten }: { shorten: Shorten }) {
  const words = useTexts(home);
  const [text, setText] = useState("");
  const [isEmpty, setEmpty] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const { mutate, isPending } = shorten;

  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const pasted = event.clipboardData?.getData("text/plain").trim() ?? "";
      const isElsewhere = event.target !== field.current;
      if (!isAddress(pasted) || (!isElsewhere && field.current?.value)) return;
      event.preventDefault();
      setText(pasted);
      mutate(pasted, { onSuccess: () => setText(without(pasted)) });
    };
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  }, [mutate]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    setEmpty(text.trim() === "");
    if (text.trim() === "") field.current?.focus();
    else {
      mutate(text, {
        onSuccess: () => setText(without(text)),
        onError: () => field.current?.focus(),
      });
    }
  };

  return (
    <form className={styles.form} onSubmit={submit} noValidate>
      <div className={styles.field}>
        <input
          ref={field}
          aria-label={words.address}
          aria-invalid={shorten.isError || isEmpty}
          aria-describedby="shorten-problem"
          placeholder={words.placeholder}
          inputMode="url"
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          // biome-ignore lint/a11y/noAutofocus: the page is this field
          autoFocus
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            setEmpty(false);
          }}
        />
        <Button type="submit" loading={isPending} size="lg" className={styles.submit ?? ""}>
          {words.shorten}
        </Button>
      </div>
      <div id="shorten-problem" className={styles.problem}>
        {isEmpty ? <p role="alert">{words.empty}</p> : <FormProblem error={shorten.error} />}
      </div>
    </form>
  );
}

/** What was typed stays until there is a link for it; what is typed meanwhile stays, too. */
function without(sent: string): (now: string) => string {
  return (now) => (now === sent ? "" : now);
}
