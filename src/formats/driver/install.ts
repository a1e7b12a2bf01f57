// The ways to install a driver's program: each method with the fields that it takes; what is not known here is passed over.

import { resolve } from "node:path";
import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import { didYouMean } from "../../errors/index.ts";
import type { InstallMethod } from "../../model/index.ts";
import { definedOnly } from "../manifest/index.ts";
import {
  checkShape,
  nodeAt,
  type ObjectNode,
  type ObjectShape,
  type Diagnostics,
  quoted,
  type Shape,
  type TextNode,
} from "../document/index.ts";

const PACKAGES = ["brew", "apt", "dnf", "pacman", "choco", "scoop", "cargo", "go"] as const;

const PACKAGE: Shape = { type: "string", required: true, description: "the package" };
const URL_FIELD: Shape = { type: "string", required: true, description: "the address" };
const SHA256: Shape = {
  type: "string",
  pattern: "^[0-9a-f]{64}$",
  says: "Write 64 digits, with small letters a to f.",
  description: "The SHA-256 of what is downloaded.",
};

/** What each method takes, beside `method` and `experimental`. */
const FIELDS: Readonly<Record<string, ObjectShape["fields"]>> = {
  ...Object.fromEntries(PACKAGES.map((method) => [method, { package: PACKAGE }])),
  npm: { package: PACKAGE, global: { type: "boolean", description: "For the whole machine." } },
  pip: { package: PACKAGE, user: { type: "boolean", description: "For this user." } },
  curl: { url: URL_FIELD, verify_sha256: SHA256 },
  download: {
    url: URL_FIELD,
    extract_bin: {
      type: "string",
      required: true,
      empty: true,
      description: "the program inside of the archive",
    },
    verify_sha256: SHA256,
  },
  vendored: { path: { type: "string", required: true, description: "the program, beside this file" } },
};

const methodShape = (method: string): ObjectShape => ({
  type: "object",
  fields: {
    method: { type: "string", required: true, enum: [method], description: "how it is installed" },
    ...FIELDS[method],
    experimental: { type: "boolean", description: "true: passed over here." },
  },
});

/** For editors; this room checks each by its own method, for better words. */
export const INSTALL_VARIANTS: Shape = { type: "union", options: Object.keys(FIELDS).map(methodShape) };

/** What is asked of any method, known here or not. */
export const INSTALL_SHAPE: ObjectShape = {
  type: "object",
  open: true,
  fields: { method: { type: "string", required: true, description: "how it is installed" } },
};

interface CheckedInstall {
  readonly method: string;
  readonly package?: string;
  readonly global?: boolean;
  readonly user?: boolean;
  readonly url?: string;
  readonly extract_bin?: string;
  readonly verify_sha256?: string;
  readonly path?: string;
  readonly experimental?: boolean;
}

export function readInstall(
  list: TextNode | undefined,
  folder: string,
  diagnostics: Diagnostics,
): readonly InstallMethod[] | undefined {
  if (list?.kind !== "list") return undefined;
  const methods = list.items.flatMap((item) =>
    item.kind === "object" ? readMethod(item, folder, diagnostics) : [],
  );
  return methods.length === 0 ? undefined : methods;
}

function readMethod(node: ObjectNode, folder: string, diagnostics: Diagnostics): InstallMethod[] {
  const method = nodeAt(node, "method");
  if (method?.kind !== "string") return [];
  const name = String(method.value);
  if (!Object.hasOwn(FIELDS, name)) {
    const known = Object.keys(FIELDS);
    diagnostics.warn(
      method,
      `the method ${quoted(name)} is not known and is passed over`,
      didYouMean(name, known) ?? `Known are ${known.join(", ")}.`,
    );
    return [];
  }
  const checked = checkShape(methodShape(name), node, diagnostics) as CheckedInstall;
  if (diagnostics.hasErrorIn(node)) return [];
  if (checked.experimental === true) {
    diagnostics.warn(node, "this way to install is experimental and is passed over", "Remove experimental.");
    return [];
  }
  if (checked.package?.startsWith("-") === true) {
    diagnostics.add(nodeAt(node, "package") ?? node, `${quoted(checked.package)} is no package`);
    return [];
  }
  return usableUrl(checked, node, diagnostics) ? toMethod(checked, folder) : [];
}

/** An address that nothing here can download is passed over, as a method that is not known is. */
function usableUrl(
  { url, verify_sha256: hash }: CheckedInstall,
  node: ObjectNode,
  diagnostics: Diagnostics,
): boolean {
  if (url === undefined) return true;
  const place = nodeAt(node, "url") ?? node;
  const parsed = parseUrl(url);
  if (parsed === undefined || !isHttpUrl(parsed)) {
    const hint = /^docker:/i.test(url)
      ? "The image of server.image is pulled when it starts; remove this entry."
      : "Write an address that begins with https://.";
    diagnostics.warn(place, "this address cannot be downloaded, so that this way is passed over", hint);
    return false;
  }
  if (hash === undefined)
    diagnostics.warn(
      place,
      "a download without a declared SHA-256 is not used",
      "Add verify_sha256 with the hash of the file: sha256sum FILE.",
    );
  return true;
}

function toMethod(checked: CheckedInstall, folder: string): InstallMethod[] {
  const { method, package: name = "", url = "", extract_bin: extractBin = "", path = "" } = checked;
  const sha256 = checked.verify_sha256;
  switch (method) {
    case "npm":
      return [definedOnly({ method, package: name, global: checked.global } as const)];
    case "pip":
      return [definedOnly({ method, package: name, user: checked.user } as const)];
    case "curl":
      return [definedOnly({ method, url, sha256 } as const)];
    case "download":
      return [definedOnly({ method, url, extractBin, sha256 } as const)];
    case "vendored":
      return [{ method, path: resolve(folder, path) }];
    default:
      return [{ method: method as (typeof PACKAGES)[number], package: name }];
  }
}
