import { useQueryClient } from "@tanstack/react-query";
import { Link, useLocation, useSearchParams } from "wouter";
import { isSignUpOpen } from "../api/server";
import { account } from "../strings/account";
import { useTexts } from "../strings/language";
import { Credentials } from "./Credentials";
import { Entrance } from "./Entrance";
import { ownPath } from "./ownPath";
import { SetUpNotice } from "./SetUpNotice";

export function SignInPage() {
  const words = useTexts(account);
  const queries = useQueryClient();
  const [, go] = useLocation();
  const [query] = useSearchParams();
  const enter = () => {
    queries.clear(); // of the person before
    go(ownPath(query.get("next")));
  };
  return (
    <Entrance title={words.signIn} heading={words.welcome}>
      <SetUpNotice />
      <Credentials onDone={enter} />
      {isSignUpOpen ? (
        <p>
          {words.noAccount} <Link href="/sign-up">{words.signUp}</Link>
        </p>
      ) : (
        <p>{words.closed}</p>
      )}
    </Entrance>
  );
}
