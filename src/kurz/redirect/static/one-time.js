// Pages of one-time links: the token stands behind #, which no server log sees. It is taken out of
// the address at once, so that it does not stay in the browser's history either.
"use strict";

const token = location.hash.slice(1);
const form = document.getElementById("form");
const text = document.getElementById("text");
const problem = document.getElementById("problem");
history.replaceState(null, "", location.pathname);
addEventListener("hashchange", () => location.reload()); // another link, opened in the same tab

if (!token) {
  text.textContent = "This link is not complete. Open it again, exactly as you got it.";
  form.hidden = true;
}

async function send(path, body, bearer) {
  const headers = { "content-type": "application/json" };
  if (bearer) headers.authorization = `Bearer ${bearer}`;
  const answer = await fetch(`/api/v1/${path}`, {
    method: "POST", headers, body: JSON.stringify(body),
  });
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.detail || found.title);
  return found;
}

const acts = {
  setup: ({ email, password }) => send("auth/setup", { token, email, password }),
  reset: ({ password }) => send("auth/reset", { token, password }),
  join: async ({ email, password, has_account }) => {
    if (!has_account) return send("auth/register", { email, password, invitation: token });
    const session = await send("auth/sign-in", { email, password });
    return send("invitations/accept", { token }, session.token);
  },
};

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  problem.hidden = true;
  try {
    await acts[form.dataset.act](Object.fromEntries(new FormData(form)));
    text.textContent = form.dataset.done;
    form.hidden = true;
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
  }
  button.disabled = false;
});
