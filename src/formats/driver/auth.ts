// Logins and health checks of a driver, in the model's words.

import { isHttpUrl, isSecureUrl, parseUrl } from "../../base/net/urls.ts";
import type { DriverAuth, DriverHealthCheck, HttpExpectation } from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import { nodeAt, type Diagnostics, quoted, type TextNode, toLabel } from "../document/index.ts";
import type { CheckedAuth, CheckedDriver, CheckedHttp } from "./checked-driver.ts";
import { checkPath } from "./bindings.ts";
import { parseIsoDuration } from "./iso-duration.ts";

const DETECT: Readonly<Record<string, RegExp>> = {
  exit_code: /^\d{1,3}$/,
  http_status: /^[1-5]\d\d$/,
  exception: /^\S+$/,
  header: /^[^:\s]+:.+$/,
};

export function readAuth(
  checked: CheckedAuth | undefined,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): DriverAuth | undefined {
  if (checked === undefined) return undefined;
  const { ref, state, login, refresh, expiry } = checked;
  const refNode = nodeAt(node, "ref");
  if (ref !== undefined && refNode !== undefined) checkPath(ref, refNode, diagnostics);
  checkUrl(nodeAt(node, "login", "url"), diagnostics);
  checkLogin(checked, nodeAt(node, "login"), diagnostics);
  checkUrl(nodeAt(node, "refresh", "url"), diagnostics);
  checkDetect(nodeAt(node, "expiry", "detect"), diagnostics);
  const when = login?.completes_when;
  return definedOnly<DriverAuth>({
    ref,
    state: state && { paths: state.paths ?? [], env: state.env ?? [] },
    login:
      login &&
      definedOnly<NonNullable<DriverAuth["login"]>>({
        command: filledText(login.cmd),
        url: login.url,
        interactive: login.interactive,
        requiresCallbackUrl: login.requires_callback_url,
        completesWhen:
          when &&
          definedOnly({
            command: filledText(when.cmd),
            exitCode: when.exit_code,
            http: readHttp(when.http, nodeAt(node, "login", "completes_when", "http"), diagnostics),
          }),
      }),
    refresh:
      refresh &&
      definedOnly({
        command: filledText(refresh.cmd),
        url: refresh.url,
        everyMs: readEvery(refresh.every, nodeAt(node, "refresh", "every"), diagnostics),
      }),
    expiryDetect: expiry?.detect,
  });
}

export function readHealth(
  checked: CheckedDriver["health_check"],
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): DriverHealthCheck | undefined {
  if (checked?.method === undefined || node === undefined) return undefined;
  const { method, cmd, http } = checked;
  if (method === "exec" && cmd === undefined)
    diagnostics.add(
      node,
      "cmd is missing in health_check: exec runs a command",
      "Write cmd: and the command.",
    );
  if (method === "http" && http === undefined)
    diagnostics.add(node, "http is missing in health_check", "Write http: { method: GET, url: https://… }.");
  return definedOnly<DriverHealthCheck>({
    method,
    command: cmd,
    expectExit: checked.expect_exit,
    http: readHttp(http, nodeAt(node, "http"), diagnostics),
    everyMs: readEvery(checked.every, nodeAt(node, "every"), diagnostics),
    timeoutMs: checked.timeout_ms,
  });
}

function readHttp(
  http: CheckedHttp | undefined,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): HttpExpectation | undefined {
  checkUrl(nodeAt(node, "url"), diagnostics);
  if (http?.method === undefined || http.url === undefined) return undefined;
  return definedOnly<HttpExpectation>({
    method: http.method,
    url: http.url,
    expectStatus: http.expect_status,
  });
}

function readEvery(
  written: string | undefined,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): number | undefined {
  if (written === undefined || node === undefined) return undefined;
  const ms = parseIsoDuration(written);
  if (ms === undefined)
    diagnostics.add(
      node,
      `${toLabel(node.path)} ${quoted(written)} is not a length of time`,
      "Write PT30S, PT5M, PT1H or P1D: seconds, minutes, hours, days.",
    );
  return ms;
}

function checkUrl(node: TextNode | undefined, diagnostics: Diagnostics): void {
  if (node?.kind !== "string") return;
  const url = parseUrl(String(node.value));
  if (url === undefined || !isHttpUrl(url))
    diagnostics.add(
      node,
      `${toLabel(node.path)} is not a URL`,
      "Write an address that begins with https://.",
    );
}

/** A person types passwords there, and somebody has to notice when they are done. */
function checkLogin(
  { login, state }: CheckedAuth,
  node: TextNode | undefined,
  diagnostics: Diagnostics,
): void {
  if (login === undefined || node === undefined) return;
  const page = nodeAt(node, "url");
  if (page?.kind === "string" && !isSafePage(String(page.value)))
    diagnostics.add(
      page,
      `${toLabel(page.path)} is not https: whoever listens sees what is typed there`,
      "Write an address that begins with https://; plain http is for this computer only.",
    );
  const when = login.completes_when;
  const shows = when?.cmd || when?.http !== undefined || (when && (state?.paths?.length ?? 0) > 0);
  if (when !== undefined && !shows)
    diagnostics.warn(
      nodeAt(node, "completes_when") ?? node,
      "completes_when has neither cmd nor http: nothing shows that the login is done",
      "Write cmd: and a command that succeeds for who is logged in, or http: { method: GET, url: https://… }.",
    );
  else if (login.url !== undefined && !login.cmd && when === undefined && !login.requires_callback_url)
    diagnostics.warn(
      page ?? node,
      "nothing tells when the login on this page is done: somebody has to be there to say so",
      "Add completes_when: with a cmd or http, or requires_callback_url: true if the page can come back.",
    );
}

/** What is not a URL is told elsewhere. */
function isSafePage(text: string): boolean {
  const url = parseUrl(text);
  return url?.protocol !== "http:" || isSecureUrl(url);
}

/** Words of other hosts are let be; the known ones must be right. */
function checkDetect(node: TextNode | undefined, diagnostics: Diagnostics): void {
  if (node?.kind !== "string") return;
  const text = String(node.value);
  const colon = text.indexOf(":");
  const word = colon < 0 ? text : text.slice(0, colon);
  const known = Object.hasOwn(DETECT, word) ? DETECT[word] : undefined;
  if (known === undefined || (colon >= 0 && known.test(text.slice(colon + 1)))) return;
  diagnostics.add(
    node,
    `${toLabel(node.path)} ${quoted(text)} is not complete`,
    "Write exit_code:N, http_status:N, exception:Name or header:NAME:VALUE.",
  );
}

/** An empty command stands for one that a program brings. */
function filledText(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
