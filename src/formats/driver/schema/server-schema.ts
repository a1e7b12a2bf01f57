// Schema of the server block of a driver: its four forms, and the checks that they share.

import { isHttpUrl, isSecureUrl, parseUrl } from "../../../base/net/urls.ts";
import { didYouMean } from "../../../errors/index.ts";
import type { DriverServer } from "../../../model/index.ts";
import { nodeAt, type ObjectNode, quoted, type TextNode } from "../../document/index.ts";
import {
  integer,
  list,
  map,
  object,
  oneOf,
  type ReadContext,
  text,
  variants,
} from "../../schema-builder/index.ts";
import { checkServerAuth, SERVER_AUTH } from "../../manifest/index.ts";
import { noteSlips } from "../read/moved-keys.ts";
import {
  checkNoReference,
  checkNoSecrets,
  checkSecretValues,
  noteSecretArguments,
} from "../read/references.ts";

/** Variables that the docker command reads itself, before it passes them on. */
const OF_DOCKER = /^(?:DOCKER_.*|LD_.*|DYLD_.*|PATH|HOME|XDG_.*|GODEBUG|SSL_CERT_.*)$/i;
const HEADER = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

const VALUE = text("", { scalars: true, empty: true });

const PROGRAM = {
  args: list("Command-line arguments, one list item for each argument. Can contain ${secrets.NAME}.", VALUE),
  env: map("Environment variables of the server. Values can contain ${secrets.NAME}.", VALUE),
};

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the inferred result has it
const kind = <const K extends DriverServer["kind"]>(name: K) =>
  oneOf("Kind of server: binary (a local program), npm (a package), docker (an image) or remote (a URL).", [
    name,
  ]).required();
const OPEN = { open: true } as const;

const FORMS = {
  binary: object(
    "Program on this machine.",
    {
      kind: kind("binary"),
      path: text(
        "Program: a name on the PATH, an absolute path, or a path relative to the workspace or this file.",
      ).required(),
      ...PROGRAM,
    },
    OPEN,
  ),
  npm: object(
    "npm package.",
    {
      kind: kind("npm"),
      package: text("Name of the npm package, with an optional version or range: @scope/name@^1.").required(),
      ...PROGRAM,
    },
    OPEN,
  ),
  docker: object(
    "Container image.",
    {
      kind: kind("docker"),
      image: text("Container image, such as name:tag or name@sha256:<digest>.").required(),
      ...PROGRAM,
      port: integer("Port of the server inside the container. Only for the transport http. Default: 8080.", {
        minimum: 1,
        maximum: 65_535,
      }),
      path: text("URL path of the MCP endpoint. Only for the transport http. Default: /mcp.", {
        pattern: "^/",
        patternHint: "Write a path that begins with /.",
      }),
    },
    OPEN,
  ),
  remote: object(
    "Remote server at a URL.",
    {
      kind: kind("remote"),
      url: text("URL of the MCP endpoint. Its path and query can contain ${secrets.NAME}.")
        .required()
        .transform(checkUrl),
      headers: map("HTTP headers of each request. Values can contain ${secrets.NAME}.", VALUE),
      auth: SERVER_AUTH,
    },
    OPEN,
  ),
};

export const SERVER = variants("", "kind", FORMS, {
  reportMissing(node, known, { diagnostics }) {
    diagnostics.add(
      nodeAt(node, "kind") ?? node,
      "server has no kind",
      `Write kind: ${known.join(", or ")}.`,
    );
  },
  reportUnknown(word, node, known, { diagnostics }) {
    diagnostics.add(
      node,
      `${quoted(word)} is not a kind of server`,
      didYouMean(word, known) ?? `Write one of ${known.join(", ")}.`,
    );
  },
  check(node, form, { diagnostics }) {
    noteSlips(node, [...(form.rules.keys?.values() ?? [])], diagnostics);
    for (const name of ["path", "package", "image"]) checkNoReference(nodeAt(node, name), diagnostics);
    const open = ["env", "headers", "args", "url", "auth"].flatMap((name) => nodeAt(node, name) ?? []);
    for (const part of open) checkSecretValues(part, diagnostics);
    noteSecretArguments(nodeAt(node, "args"), diagnostics);
    checkNoSecrets(node, new Set(open), diagnostics);
    checkNames(node, { diagnostics });
    checkWords(node, { diagnostics });
  },
}).transform((server, node, { diagnostics }): DriverServer => {
  if (server.kind === "remote") {
    if (node.kind === "object") checkServerAuth(server.auth, node, diagnostics);
    return server;
  }
  const { args = [], env = {}, ...rest } = server;
  return { ...rest, args, env };
});

type Context = Pick<ReadContext, "diagnostics">;

function textOf(node: TextNode | undefined): string | undefined {
  return node?.kind === "string" ? String(node.value) : undefined;
}

function checkNames(node: ObjectNode, { diagnostics }: Context): void {
  const [env, docker] = [nodeAt(node, "env"), textOf(nodeAt(node, "kind")) === "docker"];
  for (const entry of env?.kind === "object" ? env.entries : [])
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(entry.key))
      diagnostics.add(
        entry,
        `${quoted(entry.key)} is not the name of a variable`,
        "Use letters, digits and _. Do not begin with a digit.",
      );
    else if (docker && OF_DOCKER.test(entry.key))
      diagnostics.add(
        entry,
        `${entry.key} would change the docker command itself, outside of the container`,
        "Set the variable in the image, or use another name.",
      );
  const headers = nodeAt(node, "headers");
  for (const entry of headers?.kind === "object" ? headers.entries : [])
    if (!HEADER.test(entry.key))
      diagnostics.add(entry, `${quoted(entry.key)} cannot be the name of a header`);
    else if (entry.value.kind === "string" && /[\r\n]/.test(String(entry.value.value)))
      diagnostics.add(
        entry.value,
        `the header ${entry.key} contains a line break`,
        "Write its value on one line.",
      );
}

/** Refuses words that the command line would read as options. */
function checkWords(node: ObjectNode, { diagnostics }: Context): void {
  const isDocker = textOf(nodeAt(node, "kind")) === "docker";
  for (const name of ["path", "package", "image"]) {
    const place = nodeAt(node, name);
    const word = textOf(place);
    if (word === undefined || place === undefined || (name === "path" && isDocker)) continue;
    if (word.startsWith("-"))
      diagnostics.add(
        place,
        `server.${name} begins with -`,
        `Write a ${name} that does not begin with -, because the word would be read as an option.`,
      );
    else if (name !== "path" && /\s/.test(word))
      diagnostics.add(
        place,
        `server.${name} contains a space`,
        `Write only the ${name}; other words belong to args.`,
      );
  }
}

function checkUrl(written: string, place: TextNode, { diagnostics }: ReadContext): string {
  // The host is fixed by the file, so that no value of a secret can change it.
  if (written.includes("${") && !/^https?:\/\/[^/\\?#$]+[/?]/i.test(written)) {
    diagnostics.add(
      place,
      "server.url contains a reference before its path",
      "Write the reference in the path or after the ?, or use server.auth or server.headers.",
    );
    return written;
  }
  const url = parseUrl(written);
  if (url === undefined || !isHttpUrl(url))
    diagnostics.add(place, "server.url is not a URL", "Write an address that begins with https://.");
  else if (url.username !== "" || url.password !== "")
    diagnostics.add(
      place,
      "server.url contains a user name or a password",
      "Use server.auth or server.headers.",
    );
  else if (!isSecureUrl(url))
    diagnostics.add(
      place,
      "server.url is not encrypted",
      "Write https://; http:// is only for this machine itself (localhost, 127.0.0.1).",
    );
  return written;
}
