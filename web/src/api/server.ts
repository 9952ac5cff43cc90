// What the server says of itself in the page's head.

function told(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="kurz-${name}"]`)?.content ?? "";
}

/** Whether anybody may make temporary links. */
export const isOpen = told("links") === "open";
/** Whether anybody may make an account. */
export const isSignUpOpen = told("sign-up") === "open";
/** Whether this installation has no administrator yet. */
export const needsSetUp = told("set-up") === "needed";
/** What short URLs begin with. */
export const baseUrl = told("base-url") || location.origin;
/** How long a link lives that was made without an account. */
export const temporaryHours = Number(told("temporary-hours") || "8");
/** For style elements; browsers hide it from everything but scripts. */
export const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce;
