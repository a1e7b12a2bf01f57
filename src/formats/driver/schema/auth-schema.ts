// Schemas of logins and health checks of a driver.

import { isHttpUrl, isSecureUrl, parseUrl } from "../../../base/net/urls.ts";
import type { DriverAuth } from "../../../model/index.ts";
import { nodeAt, quoted, type TextNode, toLabel } from "../../document/index.ts";
import { flag, integer, list, object, oneOf, type ReadContext, text } from "../../schema-builder/index.ts";
import { checkPath, texts } from "./shared-fields.ts";

const DURATION = /^P(?:(\d+)W|(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?)$/;
/** A simpler pattern for editors. */
const DURATION_ISO = "^P(?:T)?\\S+$";

const UNITS = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000];

/** Milliseconds of PT30S, PT5M or P1D. Months and years have no fixed length. Returns undefined for other text, and for zero. */
function parseIsoDuration(text: string): number | undefined {
  const parts = text.length > 40 ? undefined : DURATION.exec(text)?.slice(1);
  if (parts === undefined) return undefined;
  const ms = Math.round(parts.reduce((sum, part, index) => sum + Number(part ?? 0) * (UNITS[index] ?? 0), 0));
  return ms > 0 && Number.isSafeInteger(ms) ? ms : undefined;
}

/** The shortest of the usual spellings. */
export function writeIsoDuration(ms: number): string {
  const units: readonly [number, string, string][] = [
    [86_400_000, "P", "D"],
    [3_600_000, "PT", "H"],
    [60_000, "PT", "M"],
  ];
  for (const [unit, before, after] of units) if (ms % unit === 0) return `${before}${ms / unit}${after}`;
  return `PT${ms / 1_000}S`;
}

const DETECT: Readonly<Record<string, RegExp>> = {
  exit_code: /^\d{1,3}$/,
  http_status: /^[1-5]\d\d$/,
  exception: /^\S+$/,
  header: /^[^:\s]+:.+$/,
};

/** An empty command says that a program does it, and counts as absent. */
const command = (description: string) =>
  text(description, { empty: true })
    .key("cmd")
    .transform((written) => (written === "" ? undefined : written));

const HTTP = object("HTTP request of the check, and the status that means success.", {
  method: oneOf("HTTP method of the request.", ["GET", "POST", "HEAD"]).required(),
  url: text("URL of the request. It must begin with https://, unless it is on this computer.")
    .required()
    .transform(checkUrl),
  expectStatus: integer(
    "HTTP status code that means success. Default: 200 to 299; for a health check, any status below 400.",
    { minimum: 100, maximum: 599 },
  ),
});

const EVERY = text("Interval as an ISO 8601 duration, such as PT30S, PT5M, PT1H or P1D.", {
  pattern: DURATION_ISO,
})
  .key("every")
  .transform((written, node, { diagnostics }) => {
    const ms = parseIsoDuration(written);
    if (ms === undefined)
      diagnostics.add(
        node,
        `${toLabel(node.path)} ${quoted(written)} is not a length of time`,
        "Write PT30S, PT5M, PT1H or P1D: seconds, minutes, hours, days.",
      );
    return ms;
  });

export const AUTH = object(
  "Login of users to the service behind the driver, and the secrets that the driver needs.",
  {
    ref: text(
      "Path of the SECRETS.md that lists the secrets of the driver, relative to this file or the workspace.",
    ).transform(checkPath),
    state: object("Files and environment variables that contain the result of a login.", {
      paths: texts(
        "Paths of files and folders that the login writes. Login commands can write them, and the server can read them.",
      ),
      env: list(
        "Names of environment variables that contain the credentials of a login. If server is remote, has neither auth nor an Authorization header, and there is exactly one name, Portolan sends the secret of this name as a bearer token.",
        text("", {
          pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
          patternHint: "Write the name of a variable, such as EXAMPLE_API_KEY.",
        }),
        { unique: true },
      ),
    }).transform(({ paths = [], env = [] }) => ({ paths, env })),
    login: object("Login that portolan login <driver> runs: a command, a web page, or both.", {
      command: command(
        "Command that logs in. Portolan runs it without a shell, in the sandbox of the driver.",
      ),
      url: text("URL of the login page, which portolan login opens in the browser.").transform(checkUrl),
      interactive: flag("If true, the login command asks questions and needs a terminal.").default(false),
      requiresCallbackUrl: flag(
        "If true, the login page redirects to a callback URL on this computer. Portolan passes this URL as {callback_url} in url, or as the parameter redirect_uri.",
      ).default(false),
      completesWhen: object("Check that succeeds when the user is logged in: cmd or http.", {
        command: command("Command whose exit code shows whether the user is logged in."),
        exitCode: integer("Exit code of cmd that means that the user is logged in. Default: 0."),
        http: HTTP,
      }),
    }),
    refresh: object("Refresh of a login: a command or an HTTP request.", {
      command: command(
        "Command that refreshes the login. Leave it empty if the server or another program refreshes the login.",
      ),
      url: text("URL that Portolan requests to refresh the login.").transform(checkUrl),
      everyMs: EVERY,
    }),
    expiry: object("Detection of an expired login in the failures of calls.", {
      detect: text(
        "Sign of an expired login: exit_code:N, http_status:N, exception:Name or header:NAME:VALUE.",
      ).transform(checkDetect),
    }),
  },
  { check: (_, at) => checkLogin(at.entry("login")?.value, at.entry("state")?.value, at) },
).transform(({ expiry, ...auth }): DriverAuth => ({ ...auth, expiryDetect: expiry?.detect }));

export const HEALTH_CHECK = object(
  "Health check of the driver. Portolan does not choose a driver whose health check fails.",
  {
    method: oneOf(
      "Kind of check. ping: MCP ping. exec: the command in cmd. http: the request in http. noop: no check.",
      ["ping", "exec", "http", "noop"],
    ).required(),
    command: text("Command of the method exec. Portolan runs it without a shell.").key("cmd"),
    http: HTTP,
    expectExit: integer("Exit code of cmd that means success. Default: 0."),
    everyMs: EVERY,
    timeoutMs: integer("Maximum time of one check, in milliseconds.", { minimum: 100 }).default(5_000),
  },
  {
    check({ method }, at) {
      if (method === "exec" && at.entry("command") === undefined)
        at.error(
          "command",
          "cmd is missing in health_check: exec runs a command",
          "Write cmd: and the command.",
        );
      if (method === "http" && at.entry("http") === undefined)
        at.error("http", "http is missing in health_check", "Write http: { method: GET, url: https://… }.");
    },
  },
);

function checkUrl(url: string, node: TextNode, { diagnostics }: ReadContext): string {
  const parsed = parseUrl(url);
  if (parsed === undefined || !isHttpUrl(parsed))
    diagnostics.add(
      node,
      `${toLabel(node.path)} is not a URL`,
      "Write an address that begins with https://.",
    );
  return url;
}

/** A person types passwords on the login page, and the end of the login must be noticeable. */
function checkLogin(
  login: TextNode | undefined,
  state: TextNode | undefined,
  { diagnostics }: ReadContext,
): void {
  if (login?.kind !== "object") return;
  const page = nodeAt(login, "url");
  if (page?.kind === "string" && !isSafePage(String(page.value)))
    diagnostics.add(
      page,
      `${toLabel(page.path)} is not https: others on the network can read what the user types there`,
      "Write an address that begins with https://; plain http is for this computer only.",
    );
  const when = nodeAt(login, "completes_when");
  const paths = nodeAt(state, "paths");
  const showsEnd =
    isFilled(nodeAt(when, "cmd")) ||
    isFilled(nodeAt(when, "http")) ||
    (paths?.kind === "list" && paths.items.length > 0);
  const callback = nodeAt(login, "requires_callback_url");
  if (isFilled(when) && !showsEnd)
    diagnostics.warn(
      when ?? login,
      "completes_when has neither cmd nor http, so Portolan cannot detect the end of the login",
      "Write cmd: and a command that succeeds once the user is logged in, or http: { method: GET, url: https://… }.",
    );
  else if (
    isFilled(page) &&
    !isFilled(nodeAt(login, "cmd")) &&
    !isFilled(when) &&
    !(callback?.kind === "boolean" && callback.value === true)
  )
    diagnostics.warn(
      page ?? login,
      "Portolan cannot detect the end of the login on this page, so a person must confirm that the login is complete",
      "Add completes_when: with a cmd or http, or requires_callback_url: true if the page can redirect back to Portolan.",
    );
}

function isFilled(node: TextNode | undefined): boolean {
  return node !== undefined && node.kind !== "null" && !(node.kind === "string" && node.value === "");
}

/** A text that is no URL at all has an error of its own. */
function isSafePage(written: string): boolean {
  const url = parseUrl(written);
  return url?.protocol !== "http:" || isSecureUrl(url);
}

/** Words of other hosts are accepted; the known ones must be complete. */
function checkDetect(written: string, node: TextNode, { diagnostics }: ReadContext): string {
  const colon = written.indexOf(":");
  const word = colon < 0 ? written : written.slice(0, colon);
  const known = Object.hasOwn(DETECT, word) ? DETECT[word] : undefined;
  if (known !== undefined && !(colon >= 0 && known.test(written.slice(colon + 1))))
    diagnostics.add(
      node,
      `${toLabel(node.path)} ${quoted(written)} is not complete`,
      "Write exit_code:N, http_status:N, exception:Name or header:NAME:VALUE.",
    );
  return written;
}
