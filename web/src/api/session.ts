import { type QueryClient, useQuery } from "@tanstack/react-query";
import { api, need, Problem, type Schemas } from "./client";
import * as storage from "./storage";

export type Me = Schemas["MeRead"];

// No script sees the session's cookie. This says whether it is worth asking the server who we are.
const KEY = "kurz.signed-in-until";

export function mayBeSignedIn(): boolean {
  const until = storage.read(KEY);
  return until !== null && Date.parse(until) > Date.now();
}

/** `data` null: nobody is signed in. Whoever was stays known when the session ends: they are asked to
 *  sign in again, and what they typed is still there. */
export function useMe(options: { isEnabled?: boolean } = {}) {
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ client }) => getMe(Boolean(client.getQueryData(["me"]))),
    enabled: options.isEnabled ?? true,
  });
}

async function getMe(isKnown: boolean): Promise<Me | null> {
  const { data, error, response } = await api.GET("/api/v1/me").catch(() => {
    throw new Problem(0, "offline", "");
  });
  if (response.status === 401) {
    storage.write(KEY, null);
    if (!isKnown) return null;
  }
  return need(Promise.resolve({ data, error, response } as { data: Me; response: Response }));
}

export async function signIn(email: string, password: string): Promise<void> {
  const body = { email, password, as_cookie: true };
  const session = await need(api.POST("/api/v1/auth/sign-in", { body }));
  storage.write(KEY, session.expires_at);
}

/** Makes an account, and signs in. */
export async function signUp(email: string, password: string): Promise<void> {
  const body = { email, password, as_cookie: true };
  const session = await need(api.POST("/api/v1/auth/register", { body }));
  storage.write(KEY, session.expires_at);
}

/** Ends every other session; this one goes on with a new token. `revoke_keys`: revokes the keys that are not for a single
 *  workspace. */
export async function changePassword(
  old_password: string,
  new_password: string,
  revoke_keys: boolean,
): Promise<void> {
  const body = { old_password, new_password, revoke_keys };
  const session = await need(api.POST("/api/v1/auth/password", { body }));
  storage.write(KEY, session.expires_at);
}

/** Ends the account for good. */
export async function deleteAccount(password: string): Promise<void> {
  await need(api.DELETE("/api/v1/me", { body: { password } }));
  storage.write(KEY, null);
}

export async function signOut(queries: QueryClient): Promise<void> {
  await need(api.POST("/api/v1/auth/sign-out"));
  storage.write(KEY, null);
  queries.clear();
}
