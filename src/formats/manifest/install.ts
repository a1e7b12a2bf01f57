// The ways to install a program: each method with exactly the fields that it takes.

import type { InstallMethod } from "../../model/index.ts";
import { entryOf, nodeAt, type Problems, quoted, type TextNode, toLabel } from "../text/index.ts";
import { definedOnly } from "./defined.ts";
import type { CheckedInstall } from "./launch-shape.ts";
import { wholePath } from "./paths.ts";

type Field = Exclude<keyof CheckedInstall, "method">;

interface Takes {
  readonly required: readonly Field[];
  readonly optional?: readonly Field[];
}

const PACKAGE: Takes = { required: ["package"] };
const TAKES: Readonly<Partial<Record<InstallMethod["method"], Takes>>> = {
  npm: { required: ["package"], optional: ["global"] },
  pip: { required: ["package"], optional: ["user"] },
  curl: { required: ["url"], optional: ["verify_sha256"] },
  download: { required: ["url", "extract_bin"], optional: ["verify_sha256"] },
  vendored: { required: ["path"] },
};
const FIELDS: readonly Field[] = ["package", "global", "user", "url", "extract_bin", "verify_sha256", "path"];

export function toInstallMethods(
  checked: readonly (CheckedInstall | undefined)[] | undefined,
  list: TextNode | undefined,
  folder: string,
  problems: Problems,
): readonly InstallMethod[] | undefined {
  return checked?.flatMap((one, index) => {
    const node = nodeAt(list, index);
    if (one?.method === undefined || node === undefined) return [];
    checkFields(one, node, problems);
    return problems.within(node) ? [] : toMethod(one, node, folder, problems);
  });
}

function checkFields(one: CheckedInstall, node: TextNode, problems: Problems): void {
  const method = one.method ?? "npm";
  const { required, optional = [] } = TAKES[method] ?? PACKAGE;
  for (const name of required) {
    if (one[name] === undefined && entryOf(node, name)?.value === undefined)
      problems.add(
        node,
        `${name} is missing in ${toLabel(node.path)}`,
        `The method ${method} needs ${required.join(" and ")}.`,
      );
  }
  for (const name of FIELDS) {
    const entry = entryOf(node, name) ?? (name === "verify_sha256" ? entryOf(node, "sha256") : undefined);
    if (entry !== undefined && !required.includes(name) && !optional.includes(name))
      problems.add(entry, `${entry.key} does not fit the method ${method}`, `Remove ${entry.key}.`);
  }
  if (one.package?.startsWith("-") === true)
    problems.add(entryOf(node, "package")?.value ?? node, `${quoted(one.package)} is no package`);
  checkUrl(one, node, problems);
  const hash = one.verify_sha256;
  if (hash !== undefined && !/^[0-9a-f]{64}$/i.test(hash))
    problems.add(
      (entryOf(node, "verify_sha256") ?? entryOf(node, "sha256"))?.value ?? node,
      "verify_sha256 is no SHA-256",
      "Write its 64 digits, without sha256: before them.",
    );
}

function checkUrl({ url, verify_sha256: hash }: CheckedInstall, node: TextNode, problems: Problems): void {
  const place = entryOf(node, "url")?.value;
  if (url === undefined || place === undefined) return;
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === undefined || !["https:", "http:"].includes(protocol))
    problems.add(place, "url is not a URL", "Write an address that begins with https://.");
  else if (hash === undefined)
    problems.add(
      place,
      "a download without a declared SHA-256 is not used",
      "Add verify_sha256 with the hash of the file: sha256sum FILE.",
    );
}

function toMethod(one: CheckedInstall, node: TextNode, folder: string, problems: Problems): InstallMethod[] {
  const { package: name = "", url = "", extract_bin: extractBin = "", path = "" } = one;
  const sha256 = one.verify_sha256?.toLowerCase();
  switch (one.method) {
    case undefined:
      return [];
    case "npm":
      return [definedOnly({ method: "npm" as const, package: name, global: one.global })];
    case "pip":
      return [definedOnly({ method: "pip" as const, package: name, user: one.user })];
    case "curl":
      return [definedOnly({ method: "curl" as const, url, sha256 })];
    case "download":
      return [definedOnly({ method: "download" as const, url, extractBin, sha256 })];
    case "vendored": {
      const whole = wholePath(path, folder, entryOf(node, "path")?.value ?? node, problems);
      return whole === undefined ? [] : [{ method: "vendored", path: whole }];
    }
    default:
      return [{ method: one.method, package: name }];
  }
}
