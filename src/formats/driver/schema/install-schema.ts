// Schema of the ways to install a driver's program: each method with the fields that it takes.

import { resolve } from "node:path";
import { isHttpUrl, parseUrl } from "../../../base/net/urls.ts";
import { didYouMean } from "../../../errors/index.ts";
import type { InstallMethod } from "../../../model/index.ts";
import { nodeAt, quoted, type TextNode, toLabel } from "../../document/index.ts";
import {
  type Fields,
  flag,
  object,
  oneOf,
  type ReadContext,
  text,
  variants,
} from "../../schema-builder/index.ts";

const PACKAGE = text("Package name, with a version if the package manager supports it.").required();
const URL_FIELD = text(
  "URL of the file. Portolan skips the download if verify_sha256 is missing.",
).required();
const SHA256 = text("SHA-256 of the downloaded file, as 64 lower-case hexadecimal digits.", {
  pattern: "^[0-9a-f]{64}$",
  patternHint: "Write 64 digits, with small letters a to f.",
}).key("verify_sha256");

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the inferred result has it
const form = <const M extends InstallMethod["method"], const F extends Fields>(method: M, fields: F) =>
  object("", {
    method: oneOf("Install method.", [method]).required(),
    ...fields,
    experimental: flag("If true, Portolan skips this method with a warning. Default: false."),
  });

const FORMS = {
  brew: form("brew", { package: PACKAGE }),
  apt: form("apt", { package: PACKAGE }),
  dnf: form("dnf", { package: PACKAGE }),
  pacman: form("pacman", { package: PACKAGE }),
  choco: form("choco", { package: PACKAGE }),
  scoop: form("scoop", { package: PACKAGE }),
  cargo: form("cargo", { package: PACKAGE }),
  go: form("go", { package: PACKAGE }),
  npm: form("npm", {
    package: PACKAGE,
    global: flag("Ignored with a warning: Portolan installs npm packages into its own store."),
  }),
  pip: form("pip", {
    package: PACKAGE,
    user: flag("If true, the printed command installs for the current user (pip install --user)."),
  }),
  curl: form("curl", { url: URL_FIELD, sha256: SHA256 }),
  download: form("download", {
    url: URL_FIELD,
    extractBin: text("Path of the executable inside the archive.", { empty: true }).required(),
    sha256: SHA256,
  }),
  vendored: form("vendored", {
    path: text("Path of the executable, relative to this file.")
      .required()
      .transform((path, _, { folder }) => resolve(folder, path)),
  }),
};

/** A method that cannot be used here is skipped with a warning, because a driver may be made for other hosts too. */
export const INSTALL = variants("", "method", FORMS, {
  reportMissing(node, _, { diagnostics }) {
    const method = nodeAt(node, "method");
    const where = toLabel(node.path);
    if (method === undefined || method.kind === "null")
      diagnostics.add(
        method ?? node,
        `method is ${method === undefined ? "missing" : "empty"} in ${where}`,
        "Write for example method: npm.",
      );
    else diagnostics.add(method, `${toLabel(method.path)} must be text`, "Write for example method: npm.");
  },
  reportUnknown(word, node, known, { diagnostics }) {
    diagnostics.warn(
      node,
      `Portolan does not know the method ${quoted(word)}, and skips it`,
      didYouMean(word, known) ?? `The methods are ${known.join(", ")}.`,
    );
  },
}).transform(({ experimental, ...method }, node, context): InstallMethod | undefined => {
  const { diagnostics } = context;
  if (experimental === true) {
    diagnostics.warn(
      node,
      "this install method is experimental, so it is skipped",
      "To use the method, remove experimental.",
    );
    return undefined;
  }
  if ("package" in method && method.package.startsWith("-")) {
    diagnostics.add(nodeAt(node, "package") ?? node, `${quoted(method.package)} is not a package`);
    return undefined;
  }
  return "url" in method && !isUsableUrl(method, node, context) ? undefined : method;
});

function isUsableUrl(
  { url, sha256 }: { readonly url: string; readonly sha256?: string },
  node: TextNode,
  { diagnostics }: ReadContext,
): boolean {
  const place = nodeAt(node, "url") ?? node;
  const parsed = parseUrl(url);
  if (parsed === undefined || !isHttpUrl(parsed)) {
    const hint = /^docker:/i.test(url)
      ? "A container image needs no install method. Write server: { kind: docker, image: … }, and remove this entry. If the image is missing, Docker pulls it when the server starts."
      : "Write an address that begins with https://.";
    diagnostics.warn(place, "Portolan cannot download from this URL, so it skips this install method", hint);
    return false;
  }
  if (sha256 === undefined)
    diagnostics.warn(
      place,
      "Portolan skips this download, because verify_sha256 is missing",
      "Add verify_sha256 with the SHA-256 of the downloaded file. To compute it: sha256sum FILE.",
    );
  return true;
}
