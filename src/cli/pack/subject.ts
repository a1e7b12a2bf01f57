// The subject of `portolan pack`: an mcpfile, a driver, an npm package, or a server that any other command can use.

import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { shellWord } from "../../base/text/command-line.ts";
import { parseVersion } from "../../base/text/versions.ts";
import { PortolanError } from "../../errors/index.ts";
import { isMcpfileName, looksLikeMcpfile } from "../../formats/mcpfile/index.ts";
import { parsePackageSpec } from "../../model/index.ts";
import type { Cli, Words } from "../context.ts";
import { refuseBothSides } from "../options/usage-error.ts";
import { type ResolvedTarget, resolveServer } from "../target/resolve.ts";

export type Subject =
  | { readonly kind: "mcpfile"; readonly file: string; readonly server?: string }
  | { readonly kind: "driver"; readonly file: string }
  /** `what` is `name@version`, or the absolute path of a folder. */
  | { readonly kind: "npm"; readonly what: string; readonly isFolder: boolean }
  | { readonly kind: "server"; readonly target: Exclude<ResolvedTarget, { kind: "workspace" }> };

/** The files of a folder that can be packed, in this order. */
const NAMES = ["mcpfile.yaml", "mcpfile.yml", "DRIVER.md", "package.json"] as const;

export async function findSubject(words: Words, cli: Cli): Promise<Subject> {
  refuseBothSides(words.words, words.server, "target");
  const [first, second, extra] = words.words;
  refuseExtra(extra);
  if (words.server === undefined) {
    const found = await findFile(resolve(cli.io.cwd, first ?? "."), second);
    // Only an mcpfile has servers, which a second word can name.
    if (found !== undefined && found.kind !== "mcpfile") refuseExtra(second);
    if (found !== undefined) return found;
    if (first === undefined)
      throw new PortolanError(
        "USAGE",
        `There is nothing to pack in this folder: it has none of the files ${NAMES.join(", ")}.`,
        {
          hint: "Name a file, an npm package with its version, or a server: portolan pack mcpfile.yaml",
        },
      );
    const spec = npmSpec(first);
    if (spec !== undefined) {
      refuseExtra(second);
      return { kind: "npm", what: spec, isFolder: false };
    }
  }
  const target = await resolveServer(words, cli);
  if (words.server === undefined) refuseExtra(target.rest[0]);
  if (target.kind === "workspace")
    throw new PortolanError("USAGE", `${first} has several servers.`, {
      hint: `Name one of them: portolan pack ${shellWord(first ?? "")} <server>`,
    });
  if (target.kind === "server") {
    const config = target.source.config.servers.find(({ alias }) => alias === target.alias);
    if (config?.endpoint.transport === "invoke")
      return { kind: "mcpfile", file: config.origin.file, server: config.endpoint.server.info.name };
    if (config?.endpoint.transport === "contracts")
      throw new PortolanError("USAGE", "Contracts cannot be packed: they are not a server.", {
        hint: "Pack the driver of a server: portolan pack <folder>/DRIVER.md",
      });
  }
  return { kind: "server", target };
}

function refuseExtra(word: string | undefined): void {
  if (word === undefined) return;
  throw new PortolanError(
    "USAGE",
    `portolan pack takes one target; unexpected argument ${JSON.stringify(word)}.`,
    {
      hint: "Pack one target at a time. If the arguments are the command of a server, write the command after --: portolan pack -- <command...>",
    },
  );
}

async function findFile(path: string, server: string | undefined): Promise<Subject | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) {
    for (const name of NAMES) {
      const inside = await findFile(join(path, name), server);
      if (inside !== undefined) return inside;
    }
    return undefined;
  }
  if (found?.isFile() !== true) return undefined;
  const name = basename(path);
  if (/^driver\.md$/i.test(name)) return { kind: "driver", file: path };
  if (name === "package.json") return { kind: "npm", what: dirname(path), isFolder: true };
  const isMcpfile =
    isMcpfileName(path) || (/\.ya?ml$/i.test(name) && looksLikeMcpfile(await readFile(path, "utf8")));
  return isMcpfile ? { kind: "mcpfile", file: path, server } : undefined;
}

/** `name@1.2.3` or `npm:name@1.2.3`. A range would be another package tomorrow. */
function npmSpec(word: string): string | undefined {
  const written = word.replace(/^npm:/, "");
  const isNpm = written !== word;
  const spec = parsePackageSpec(written);
  if (typeof spec !== "string" && parseVersion(spec.range) !== undefined) return spec.spec;
  if (!isNpm && !/^@[^/\s]+\/[^\s]+$/.test(word)) return undefined;
  throw new PortolanError("USAGE", `${JSON.stringify(word)} has no exact version.`, {
    hint: `Write the version to pack: ${written.replace(/(.)@.*$/, "$1")}@1.2.3`,
  });
}
