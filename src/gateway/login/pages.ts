// Pages of a login: plain HTML without scripts. Every value is escaped.

export interface Page {
  readonly status: number;
  readonly html: string;
}

export interface StartPage {
  readonly server: string;
  readonly caller: string;
  /** Where the form goes. */
  readonly action: string;
  /** How the person proves who they are; `proved` if they did. */
  readonly proof: "proved" | "token" | "issuer" | "both";
  readonly issuer: string | undefined;
  /** Why the last attempt did not work. */
  readonly problem?: string;
}

export function startPage({ server, caller, action, proof, issuer, problem }: StartPage): Page {
  const token = `<p><label>Token of ${escape(caller)} for this gateway<br>
<input type="password" name="token" autocomplete="off" required></label></p>
<button name="proof" value="token">Continue</button>`;
  const host = issuer === undefined ? "" : ` at ${escape(hostOf(issuer))}`;
  const sign = `<p>First confirm your identity.</p><button name="proof" value="issuer" formnovalidate>Sign in${host}</button>`;
  const forms = {
    proved: `<button name="proof" value="cookie">Continue to ${escape(server)}</button>`,
    token: `<p>First confirm your identity.</p>${token}`,
    issuer: sign,
    both: `${sign}<p>Or:</p>${token}`,
  };
  return page(
    problem === undefined ? 200 : 403,
    `Log in to ${server}`,
    `${problem === undefined ? "" : `<p role="alert"><strong>${escape(problem)}</strong></p>`}
<p>The caller <strong>${escape(caller)}</strong> of this gateway gets access to your account at <strong>${escape(server)}</strong>.
Continue only if you asked for this yourself.</p>
<form method="post" action="${escape(action)}">${forms[proof]}</form>`,
  );
}

export function donePage(server: string): Page {
  return page(
    200,
    `You are logged in to ${server}`,
    "<p>You can close this window and go back to your client.</p>",
  );
}

export function failedPage(title: string, text: string, status = 400): Page {
  return page(status, title, `<p>${escape(text)}</p>`);
}

export const GONE: Page = failedPage(
  "This link is not valid any more",
  "The link was used before or has expired, or the gateway was restarted. Repeat the call in your client to get another link.",
  404,
);

export const OTHER_BROWSER: Page = failedPage(
  "This login cannot be continued in this browser",
  "The login was started in another browser, or it has expired. In this browser, open the link that your client shows, and log in again.",
  403,
);

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  "x-frame-options": "DENY",
  "x-content-type-options": "nosniff",
  // With "no-referrer", browsers send forms with the Origin "null".
  "referrer-policy": "same-origin",
  "cache-control": "no-store",
};

function page(status: number, title: string, body: string): Page {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>body{font:1rem/1.5 system-ui;margin:4rem auto;max-width:32rem;padding:0 1rem}button,input{font:inherit;padding:.4rem .8rem}
input{width:100%;box-sizing:border-box}:root{color-scheme:light dark}</style>
<h1>${escape(title)}</h1>
${body}</html>
`;
  return { status, html };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

function escape(text: string): string {
  const entities: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.slice(0, 500).replaceAll(/[&<>"']/g, (character) => entities[character] ?? "");
}
