// Validates a sandbox config that a program passes to connectMcp(), which no parser has checked.

import { isAbsolute, resolve } from "node:path";
import { PortolanError } from "../errors/index.ts";
import { isObject, parseNetworkRule, type SandboxConfig } from "../model/index.ts";

type Check = (value: unknown, path: string, problems: string[]) => void;

const MAX_SHOWN = 200;
const SIZES = ["memoryBytes", "processes", "openFiles", "cpuSeconds", "fileBytes", "niceness"];

const text: Check = (value, path, problems) => {
  if (typeof value !== "string" || value.includes("\0"))
    problems.push(`${path} must be a string without NUL characters`);
};
const flag: Check = (value, path, problems) => {
  if (typeof value !== "boolean") problems.push(`${path} must be true or false`);
};
const size: Check = (value, path, problems) => {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0)
    problems.push(`${path} must be a number of at least 0`);
};
/** The absolute path that a relative path of a program means. A reference such as `${HOME}` is none. */
function meant(path: string): string {
  if (path === "" || path.startsWith("~") || /[$\0]/.test(path) || path.length > MAX_SHOWN) return "";
  return `: write ${JSON.stringify(resolve(path))}`;
}

const folder: Check = (value, path, problems) => {
  text(value, path, problems);
  if (typeof value === "string" && !isAbsolute(value) && value !== "~" && !value.startsWith("~/"))
    problems.push(
      `${path} must be an absolute path, or begin with ~/, not ${JSON.stringify(value.slice(0, MAX_SHOWN))}${meant(value)}`,
    );
};
const host: Check = (value, path, problems) => {
  const parsed = parseNetworkRule(String(value));
  if (!parsed.ok) problems.push(`${path}: ${parsed.problem} ${parsed.hint}`);
};
const oneOf =
  (...words: string[]): Check =>
  (value, path, problems) => {
    if (!words.includes(value as string)) problems.push(`${path} must be ${words.join(" or ")}`);
  };
const list =
  (item: Check): Check =>
  (value, path, problems) => {
    if (!Array.isArray(value)) problems.push(`${path} must be a list`);
    else for (const [index, one] of value.entries()) item(one, `${path}[${index}]`, problems);
  };
const map =
  (item: Check): Check =>
  (value, path, problems) => {
    if (!isObject(value)) problems.push(`${path} must map names to values`);
    else for (const [name, one] of Object.entries(value)) item(one, `${path}.${name}`, problems);
  };
const object =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value, path, problems) => {
    if (!isObject(value)) {
      problems.push(`${path} must be an object`);
      return;
    }
    for (const [name, one] of Object.entries(value)) {
      const check = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (check === undefined)
        problems.push(`${path} has no setting ${name}; it has ${Object.keys(fields).join(", ")}`);
      else if (one !== undefined) check(one, `${path}.${name}`, problems);
    }
  };

const FIELDS: Readonly<Record<keyof SandboxConfig, Check>> = {
  mode: oneOf("enforce", "warn", "off"),
  backend: oneOf("bubblewrap", "unshare", "sandbox-exec", "docker", "srt"),
  network: list(host),
  fs: object({ read: list(folder), write: list(folder), deny: list(folder) }),
  env: object({ pass: list(text), set: map(text) }),
  exec: object({ allow: list(text), spawn: flag }),
  home: oneOf("private", "kept"),
  limits: object(Object.fromEntries(SIZES.map((name) => [name, size]))),
  pathArguments: map(list(text)),
};

export function validateSandbox(sandbox: SandboxConfig | undefined, server: string): void {
  if (sandbox === undefined) return;
  const problems: string[] = [];
  if (isObject(sandbox)) object(FIELDS)(sandbox, "sandbox", problems);
  else problems.push('sandbox must be "enforce", "warn", "off" or an object');
  if (problems.length === 0) return;
  throw new PortolanError("CONFIG_INVALID", `the sandbox of ${server} is not valid: ${problems.join("; ")}`, {
    server,
    data: { problems },
  });
}
