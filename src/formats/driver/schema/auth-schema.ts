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

const HTTP = object("A request, and the status that it should have.", {
  method: oneOf("the method", ["GET", "POST", "HEAD"]).required(),
  url: text("the address").required().transform(checkUrl),
  expectStatus: integer("The status of a good answer.", { minimum: 100, maximum: 599 }),
});

const EVERY = text("How often, such as PT5M.", { pattern: DURATION_ISO })
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
  "How somebody logs in, and what is kept of it.",
  {
    ref: text("The SECRETS.md with the secrets that it needs.").transform(checkPath),
    state: object("What a login leaves behind.", {
      paths: texts("Files."),
      env: list(
        "Variables.",
        text("", {
          pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
          patternHint: "Write the name of a variable, such as EXAMPLE_API_KEY.",
        }),
        { unique: true },
      ),
    }).transform(({ paths = [], env = [] }) => ({ paths, env })),
    login: object("How a login is made.", {
      command: command("A command."),
      url: text("A page.").transform(checkUrl),
      interactive: flag("A person has to be there.").default(false),
      requiresCallbackUrl: flag("It comes back to a URL.").default(false),
      completesWhen: object("How it shows that it is done.", {
        command: command("A command."),
        exitCode: integer("The exit code that the command should have."),
        http: HTTP,
      }),
    }),
    refresh: object("How a login is kept fresh.", {
      command: command("A command; empty when a program does it."),
      url: text("An address.").transform(checkUrl),
      everyMs: EVERY,
    }),
    expiry: object("How it shows that a login has ended.", {
      detect: text("exit_code:N, http_status:N, exception:Name or header:NAME:VALUE.").transform(checkDetect),
    }),
  },
  { check: (_, at) => checkLogin(at.entry("login")?.value, at.entry("state")?.value, at) },
).transform(({ expiry, ...auth }): DriverAuth => ({ ...auth, expiryDetect: expiry?.detect }));

export const HEALTH_CHECK = object(
  "How it shows that the driver works.",
  {
    method: oneOf("how", ["ping", "exec", "http", "noop"]).required(),
    command: text("For exec: the command.").key("cmd"),
    http: HTTP,
    expectExit: integer("For exec: the exit code of a good answer."),
    everyMs: EVERY,
    timeoutMs: integer("How long it may take.", { minimum: 100 }).default(5_000),
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
      `${toLabel(page.path)} is not https: whoever listens sees what is typed there`,
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
      "Portolan cannot detect the end of the login on this page, so a person must confirm it",
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
