import { useQueryClient } from "@tanstack/react-query";
import { Link, useLocation } from "wouter";
import { isSignUpOpen } from "../api/server";
import { account } from "../strings/account";
import { useTexts } from "../strings/language";
import { Credentials } from "./Credentials";
import { Entrance } from "./Entrance";
import { SetUpNotice } from "./SetUpNotice";

export function SignUpPage() {
  const words = useTexts(account);
  const queries = useQueryClient();
  const [, go] = useLocation();
  const enter = () => {
    queries.clear(); // of the person before
    go("/links");
  };
  return (
    <Entrance title={words.signUp} heading={words.join} text={words.joinText}>
      <SetUpNotice />
      {isSignUpOpen ? <Credentials isNew onDone={enter} /> : <p>{words.closed}</p>}
      <p>
        {words.hasAccount} <Link href="/sign-in">{words.signIn}</Link>
      </p>
    </Entrance>
  );
}
