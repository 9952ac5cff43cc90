// Pages of one-time links: the token stands behind #, which no server log sees. It is taken out of
// the address at once, so that it does not stay in the browser's history either.
"use strict";

const SIGNED_IN = "kurz.signed-in-until"; // the dashboard reads it: web/src/api/session.ts
const token = location.hash.slice(1);
const form = document.getElementById("form");
const text = document.getElementById("text");
const problem = document.getElementById("problem");
const known = document.getElementById("known");
const problems = JSON.parse(form.dataset.problems); // by their codes, in the page's language
const button = form.querySelector("button");
let wasUnreached = false; // the server, by a try before this one
history.replaceState(null, "", location.pathname);
addEventListener("hashchange", () => location.reload()); // another link, opened in the same tab

if (!token) {
  text.textContent = form.dataset.incomplete;
  form.hidden = true;
} else if (known) {
  greet();
}

/** Somebody who is signed in here needs no password to join. */
async function greet() {
  if (!remembered()) return;
  const answer = await fetch("/api/v1/me");
  if (!answer.ok) return;
  known.querySelector("b").textContent = (await answer.json()).email;
  setKnown(true);
  known.querySelector("button").addEventListener("click", () => setKnown(false));
}

function setKnown(isKnown) {
  known.hidden = !isKnown;
  text.hidden = isKnown;
  for (const field of form.querySelectorAll("label")) field.hidden = isKnown;
  for (const field of form.querySelectorAll("input")) field.disabled = isKnown;
  if (!isKnown) form.elements.email.focus();
}

function remembered() {
  try {
    return localStorage.getItem(SIGNED_IN) !== null;
  } catch {
    return false; // a browser that keeps nothing
  }
}

function remember(session) {
  form.elements.email.value = session.account.email; // for who keeps passwords in the browser
  try {
    localStorage.setItem(SIGNED_IN, session.expires_at);
  } catch {
    // Then Home asks to sign in, and the dashboard does not.
  }
}

async function ask(path, body) {
  const options = { method: "POST", headers: { "content-type": "application/json" } };
  const sent = fetch(`/api/v1/${path}`, body && { ...options, body: JSON.stringify(body) });
  const answer = await sent.catch(() => null);
  const found = await answer?.json().catch(() => null); // a proxy may answer with a page
  if (!found) {
    wasUnreached = true;
    throw new Error(problems.unreached);
  }
  const code = String(found.type).split("/").at(-1);
  // The answer may have been lost, not the request: then it worked, and the link works no more.
  if (code === "one-time-link-refused" && wasUnreached) throw new Error(problems.perhaps, { cause: "sign-in" });
  if (!answer.ok) throw new Error(problems[code] || found.detail || found.title);
  return found;
}

function wayToSignIn() {
  const link = document.createElement("a");
  link.href = "/app/sign-in";
  link.textContent = problems["sign-in"];
  return link;
}

/** Begins a session, which is kept in a cookie. */
async function enter(path, body) {
  remember(await ask(path, { ...body, as_cookie: true }));
}

async function keysOfWorkspaces() {
  const found = [];
  let cursor = null;
  do {
    const page = await ask(`keys?limit=100${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
    found.push(...page.keys.filter((key) => key.workspace_id !== null));
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

/** Whether all that are ticked are gone. Those that are gone are not shown any more. */
async function revoke(boxes) {
  const tries = boxes.map(async (box) => {
    const answer = await fetch(`/api/v1/keys/${box.value}`, { method: "DELETE" }).catch(() => null);
    const isGone = answer !== null && (answer.ok || answer.status === 404);
    if (isGone) box.closest("label").remove();
    return isGone;
  });
  return (await Promise.all(tries)).every(Boolean);
}

/** Shows the keys, or that their list could not be loaded. Whether there is anything to show. */
async function showKeys(keys) {
  const left = await keysOfWorkspaces().catch(() => null);
  const unlisted = document.getElementById("unlisted");
  unlisted.hidden = left !== null;
  keys.querySelector("fieldset").hidden = left === null;
  if (left?.length === 0) return false;
  for (const { id, name, prefix } of left ?? []) {
    const label = document.createElement("label");
    const box = document.createElement("input");
    label.className = "choice";
    box.type = "checkbox";
    box.value = id;
    label.append(box, `${name} (${prefix}…)`);
    keys.querySelector("fieldset").append(label);
  }
  form.hidden = text.hidden = true;
  keys.hidden = false;
  (left ? keys.querySelector("input") : unlisted.querySelector("button")).focus();
  return true;
}

/** Keys for a single workspace may be what a team's programs use: each is asked about, and none is
 *  revoked unless it is ticked. Goes on when that is done. */
async function offerKeys() {
  const keys = document.getElementById("keys");
  if (!(await showKeys(keys))) return;
  await new Promise((done) => {
    document.querySelector("#unlisted button").addEventListener("click", async ({ target }) => {
      target.disabled = true;
      const isAsking = await showKeys(keys);
      target.disabled = false;
      if (!isAsking) done();
    });
    keys.addEventListener("submit", async (event) => {
      event.preventDefault();
      const go = keys.querySelector("button");
      go.disabled = true;
      const isDone = await revoke([...keys.querySelectorAll("input:checked")]);
      go.disabled = false;
      document.getElementById("unrevoked").hidden = isDone;
      if (isDone) done();
    });
  });
  keys.hidden = true;
}

// Each gives the number of the workspace that one is in now, if there is one.
const acts = {
  setup: (fields) => enter("auth/setup", { token, ...fields }),
  reset: async ({ password, revoke_keys }) => {
    await enter("auth/reset", { token, password, revoke_keys: revoke_keys === "on" });
    await offerKeys();
  },
  join: async ({ email, password, has_account }) => {
    if (email !== undefined && !has_account) {
      await enter("auth/register", { email, password, invitation: token });
      const found = await ask("workspaces").catch(() => undefined); // one is in all the same
      return found?.workspaces[0]?.id;
    }
    if (email !== undefined) await enter("auth/sign-in", { email, password });
    return (await ask("invitations/accept", { token })).id;
  },
};

form.elements.has_account?.addEventListener("change", ({ target }) => {
  form.elements.password.autocomplete = target.checked ? "current-password" : "new-password";
  document.getElementById("hint").hidden = target.checked;
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  problem.hidden = true;
  try {
    const workspace = await acts[form.dataset.act](Object.fromEntries(new FormData(form)));
    text.textContent = form.dataset.done;
    text.hidden = false;
    form.hidden = true;
    location.replace(workspace === undefined ? "/app/links" : `/app/w/${workspace}/links`);
  } catch (error) {
    problem.textContent = error.message;
    if (error.cause === "sign-in") problem.append(" ", wayToSignIn());
    problem.hidden = false;
    button.disabled = false;
  }
});
