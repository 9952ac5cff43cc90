import { type ReactNode, useState } from "react";
import { Redirect, useSearchParams } from "wouter";
import { mayBeSignedIn, useMe } from "../api/session";
import { Loading } from "../ui/states";
import { ownPath } from "./ownPath";

/** The ways to an account. Who came here signed in goes on to where they wanted to be. */
export function ForStrangers({ children }: { children: ReactNode }) {
  const [mayBeKnown] = useState(mayBeSignedIn);
  const me = useMe({ isEnabled: mayBeKnown });
  const [query] = useSearchParams();
  if (!mayBeKnown) return children;
  if (me.isPending) return <Loading />;
  return me.data ? <Redirect to={ownPath(query.get("next"))} replace /> : children;
}
