// Identifies the server on the command line: its kind (npm, docker, binary, remote) and its transport.

import { statSync } from "node:fs";
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import type { Driver, DriverServer } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { notAllowed } from "../options/usage-error.ts";
import { takeTarget } from "../target/connect.ts";
import { splitWords, type Target } from "../target/target.ts";
import { aliasOf } from "../target/server-config.ts";

export interface Identified {
  readonly server: DriverServer;
  readonly transport: Driver["transport"];
  /** The target for the connection during authoring. */
  readonly target: Target;
  /** Short name of the server. */
  readonly name: string;
}

type Kind = DriverServer["kind"];
const KINDS: readonly Kind[] = ["npm", "docker", "binary", "remote"];
const NPM_NAME = /^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*(?:@[\w.^~<>=*-]+)?$/i;
const IMAGE = /^(?:[a-z0-9.-]+(?::\d+)?\/)?[a-z0-9._/-]+(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?$/i;
const RUN_FLAGS: ReadonlySet<string> = new Set(["-i", "--interactive", "--rm", "--init"]);

/** `folder` is the folder of the workspace. */
export function identify(words: Words, given: string | undefined, folder: string, cli: Cli): Identified {
  const kind = KINDS.find((known) => known === given);
  if (given !== undefined && kind === undefined)
    throw new PortolanError("USAGE", notAllowed("--kind", given, KINDS));
  const [first, extra] = words.words;
  if (extra !== undefined)
    throw new PortolanError(
      "USAGE",
      `author takes one server; unexpected argument ${JSON.stringify(extra)}.`,
      {
        hint: "Write arguments of the server after --, or inside the quotes of the command.",
      },
    );
  const windows = cli.io.platform === "win32";
  if (first === undefined) {
    if (words.server === undefined)
      throw new PortolanError("USAGE", "No server was given.", {
        hint: "Name one: portolan author <npm package | image | program | url> [-- args...]",
      });
    return fromCommand(words.server, kind, folder, cli);
  }
  const more = words.server ?? [];
  if (kind === "remote" || /^[a-z][a-z0-9+.-]*:\/\//i.test(first)) return fromUrl(first, more, cli);
  const [, prefix, rest = first] = /^(npm|docker):(.+)$/.exec(first) ?? [];
  const said = kind ?? (prefix as Kind | undefined);
  if (said === "npm") return fromNpm(rest, more, cli);
  if (said === "docker") return fromImage(rest, more, cli);
  const parts = splitWords(first, windows);
  if (said === "binary" || parts.length > 1) return fromCommand([...parts, ...more], said, folder, cli);
  if (first.startsWith("@")) return fromNpm(first, more, cli);
  const isFile =
    /^[.~/\\]/.test(first) || statSync(resolve(folder, first), { throwIfNoEntry: false })?.isFile();
  if (isFile === true) return fromCommand([first, ...more], "binary", folder, cli);
  if (/^[^/]*\.[^/]*\//.test(first) || (/:[\w.-]+$/.test(first) && IMAGE.test(first)))
    return fromImage(first, more, cli);
  if (NPM_NAME.test(first))
    return isOnPath(first, cli)
      ? fromCommand([first, ...more], "binary", folder, cli)
      : fromNpm(first, more, cli);
  throw new PortolanError("TARGET_INVALID", `The kind of the server ${JSON.stringify(first)} is not clear.`, {
    hint: `Name its kind: --kind npm, --kind docker, --kind binary or --kind remote. If it is a file, there is no such file in ${folder}: correct the path.`,
  });
}

function fromNpm(name: string, args: readonly string[], cli: Cli): Identified {
  if (!NPM_NAME.test(name))
    throw new PortolanError("TARGET_INVALID", `${JSON.stringify(name)} is not the name of an npm package.`, {
      hint: "Write the name of the package, with a version if you like: npm:@scope/server@1.2.",
    });
  const server: DriverServer = { kind: "npm", package: name, args, env: {} };
  return local(server, ["npx", "-y", name, ...args], cli);
}

function fromImage(image: string, args: readonly string[], cli: Cli): Identified {
  if (!IMAGE.test(image))
    throw new PortolanError(
      "TARGET_INVALID",
      `${JSON.stringify(image)} is not the name of a container image.`,
      {
        hint: "Write the name of the image, if possible with a tag: docker:ghcr.io/acme/server:1.2.",
      },
    );
  const names = Object.keys(cli.options.env).flatMap((name) => ["-e", name]);
  const server: DriverServer = { kind: "docker", image, args, env: {} };
  const identified = local(server, ["docker", "run", "-i", "--rm", ...names, image, ...args], cli);
  return { ...identified, name: shortName(image) };
}

function fromUrl(url: string, more: readonly string[], cli: Cli): Identified {
  if (more.length > 0) throw new PortolanError("USAGE", "A URL takes no arguments after --.");
  const { target } = takeTarget({ words: [url], server: undefined }, cli);
  if (target.kind !== "url" || target.transport !== "http")
    throw new PortolanError(
      "TARGET_INVALID",
      `portolan author supports remote servers at http:// and https:// URLs only, not ${JSON.stringify(target.label)}.`,
    );
  const transport = cli.options.transport === "sse" ? "sse" : "http";
  return { server: { kind: "remote", url: target.url }, transport, target, name: aliasOf(target) };
}

/** A command that runs a package or an image is that package or image. */
function fromCommand(words: readonly string[], kind: Kind | undefined, folder: string, cli: Cli): Identified {
  const [command = "", ...args] = words;
  if (kind === undefined && command === "npx") {
    const at = args.findIndex((word) => !word.startsWith("-"));
    const name = args[at];
    if (name !== undefined && args.slice(0, at).every((word) => word === "-y" || word === "--yes"))
      return fromNpm(name, args.slice(at + 1), cli);
  }
  if (kind === undefined && (command === "docker" || command === "podman") && args[0] === "run") {
    const at = args.findIndex((word, index) => index > 0 && !RUN_FLAGS.has(word));
    const image = args[at];
    if (image !== undefined && !image.startsWith("-")) return fromImage(image, args.slice(at + 1), cli);
  }
  const target = takeTarget({ words: [], server: words }, cli).target;
  const name = aliasOf(target);
  const path = /[/\\]/.test(command) ? within(resolve(folder, command), folder, folder) : command;
  return { server: { kind: "binary", path, args, env: {} }, transport: "stdio", target, name };
}

function local(server: DriverServer, command: readonly string[], cli: Cli): Identified {
  const { target } = takeTarget({ words: [], server: command }, cli);
  return { server, transport: "stdio", target, name: aliasOf(target) };
}

/** A path inside of the workspace is written relative to `from`, so that it works wherever the workspace is. */
export function within(path: string, from: string, folder: string): string {
  const inside = relative(folder, path);
  if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return path;
  const written = relative(from, path).split(sep).join("/");
  return written.startsWith(".") ? written : `./${written}`;
}

function shortName(image: string): string {
  const last =
    image
      .replace(/@.*$/, "")
      .replace(/:[\w.-]+$/, "")
      .split("/")
      .at(-1) ?? "";
  return last.replace(/^(?:mcp-server|server|mcp)-/, "") || "server";
}

function isOnPath(word: string, cli: Cli): boolean {
  try {
    takeTarget({ words: [], server: [word] }, cli);
    return true;
  } catch {
    return false;
  }
}

/** The folder of a driver. */
export function driverFolder(folder: string, id: string): string {
  return dirname(resolve(folder, ".drivers", id, "DRIVER.md"));
}
