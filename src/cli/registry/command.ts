// `portolan registry`, `publish`, `search`, `info`, `versions`, `deprecate`, `unpublish`, `advisories`: definitions and help.

import type { Command } from "commander";
import type { CommandHost } from "../context.ts";
import {
  collect,
  defineCommand,
  type OptionGroup,
  outputOptions,
  plainOutputOptions,
  workspaceOption,
} from "../options/groups.ts";
import { exitCodes } from "../output/help.ts";
import type { RawRegistryOptions } from "./options.ts";
import type { RawRegistryServeOptions } from "./serve.ts";

export const registryOption: OptionGroup = (command) =>
  command.option(
    "--registry <url>",
    "the registry: a URL or a folder (repeatable, in order; default: the variable PORTOLAN_REGISTRY, then registries in portolan.yaml)",
    collect,
  );

const tokenOption: OptionGroup = (command) =>
  command.option(
    "--token <token>",
    "the token of the first registry (safer: the variable PORTOLAN_REGISTRY_TOKEN, or token in portolan.yaml)",
  );

const folderOption: OptionGroup = (command) =>
  command.option(
    "--folder <path>",
    "the folder of the registry (default: registry in the data folder of Portolan, on Linux ~/.local/share/portolan)",
  );

const CODES = exitCodes({
  0: "done",
  2: "wrong usage, or a package that is not valid",
  3: "the registry cannot be reached, or does not have the package",
  5: "the token is missing or wrong, or the index of the registry is not trusted",
});

const FOLDER_CODES = exitCodes({
  0: "done",
  2: "wrong usage, or a folder that cannot be used",
  5: "the index in the folder was changed, so its signature is wrong",
});

const TRUST = `Trust:
  A registry signs its index. At the first use of a registry, Portolan stores its key. From then on, Portolan refuses an index with another key, an index older than the last one, and an expired index.`;

export function addRegistryCommands(host: CommandHost): void {
  addReadCommands(host);
  addWriteCommands(host);
  addStarCommand(host);
  addOperatorCommands(host);
}

function addReadCommands({ program, explain, run }: CommandHost): void {
  const search = defineCommand(program, {
    name: "search",
    summary: "search registries for packages of MCP servers",
    argument: "[words...]",
    groups: [outputOptions, workspaceOption, registryOption],
  })
    .option("--limit <number>", "show at most this many results (default: 20)")
    .action((words: string[], raw: RawRegistryOptions) =>
      run(raw, async (cli) => (await import("./read.ts")).search(cli, words, raw)),
    );
  explain(search, {
    examples: [
      "portolan search github --registry http://127.0.0.1:7430",
      "portolan search issue tracker --limit 5",
    ],
    sections: [
      "Each word must occur in the name or in the description of a package, or be one of its keywords.",
      TRUST,
      CODES,
    ],
  });

  const info = defineCommand(program, {
    name: "info",
    summary: "show a package: who made it, what it may do, its advisories",
    argument: "<package>",
    groups: [outputOptions, workspaceOption, registryOption],
  }).action((name: string, raw: RawRegistryOptions) =>
    run(raw, async (cli) => (await import("./read.ts")).info(cli, name, raw)),
  );
  explain(info, {
    examples: ["portolan info @alice/github-mcp", "portolan info @alice/github-mcp@^1.2"],
    sections: [TRUST, CODES],
  });

  const versions = defineCommand(program, {
    name: "versions",
    summary: "list the versions and tags of a package",
    argument: "<package>",
    groups: [outputOptions, workspaceOption, registryOption],
  }).action((name: string, raw: RawRegistryOptions) =>
    run(raw, async (cli) => (await import("./read.ts")).versions(cli, name, raw)),
  );
  explain(versions, { examples: ["portolan versions @alice/github-mcp"], sections: [CODES] });

  const advisories = defineCommand(program, {
    name: "advisories",
    summary: "list the advisories of registries, or publish one",
    argument: "[package]",
    groups: [outputOptions, workspaceOption, registryOption, tokenOption],
  })
    .option("--publish <file>", "publish the advisory in this JSON file, or update a published one")
    .action((name: string | undefined, raw: RawRegistryOptions) =>
      run(raw, async (cli) => (await import("./read.ts")).advisories(cli, name, raw)),
    );
  explain(advisories, {
    examples: [
      "portolan advisories",
      "portolan advisories @alice/github-mcp@1.2.0",
      "portolan advisories --publish MLLD-2026-0001.json",
    ],
    sections: [CODES],
  });
}

function addWriteCommands({ program, explain, run }: CommandHost): void {
  const publish = defineCommand(program, {
    name: "publish",
    summary: "publish a version of a package in a registry",
    argument: "[document]",
    groups: [outputOptions, workspaceOption, registryOption, tokenOption],
  })
    .option("--file <path>", "a file of the package to upload to the registry (repeatable)", collect)
    .option(
      "--tag <tag>",
      "the tag for this version (default: latest, if this version is a release higher than the present latest)",
    )
    .action((document: string | undefined, raw: RawRegistryOptions) =>
      run(raw, async (cli) => (await import("./write.ts")).publish(cli, document, raw)),
    );
  explain(publish, {
    examples: [
      "portolan publish",
      "portolan publish github-mcp.json",
      "portolan publish github-mcp.json --file github-mcp.tgz --tag beta",
    ],
    sections: [
      "The default document is mcp-package.json or mcp-package.jsonc of this folder; portolan pack creates it. If the document has no source.url, and --file is not given, publish uploads the archive that pack wrote in the same folder, and adds its URL to the published document.",
      "The content of a published version never changes. The registry sets dates, and counts downloads.",
      CODES,
    ],
  });

  const deprecate = defineCommand(program, {
    name: "deprecate",
    summary: "mark versions of a package as deprecated, so that Portolan warns their users",
    argument: "<package>",
    groups: [outputOptions, workspaceOption, registryOption, tokenOption],
  })
    .argument("[message]", "why, and what to use instead")
    .option("--undo", "remove the warning")
    .action((name: string, message: string | undefined, raw: RawRegistryOptions) =>
      run(raw, async (cli) => (await import("./write.ts")).deprecate(cli, name, message, raw)),
    );
  explain(deprecate, {
    examples: [
      'portolan deprecate "@alice/github-mcp@<1.2" "Use 1.2: earlier versions lose events."',
      "portolan deprecate @alice/github-mcp --undo",
    ],
    sections: ["Without a version, the command applies to all versions.", CODES],
  });

  const unpublish = defineCommand(program, {
    name: "unpublish",
    summary: "remove a version of a package; its number cannot be used again",
    argument: "<package@version>",
    groups: [outputOptions, workspaceOption, registryOption, tokenOption],
  })
    .argument("[message]", "why")
    .option("--all", "remove all versions")
    .action((name: string, message: string | undefined, raw: RawRegistryOptions) =>
      run(raw, async (cli) => (await import("./write.ts")).unpublish(cli, name, message, raw)),
    );
  explain(unpublish, {
    examples: ["portolan unpublish @alice/github-mcp@1.2.0", "portolan unpublish @alice/github-mcp --all"],
    sections: [CODES],
  });
}

function addStarCommand({ program, explain, run }: CommandHost): void {
  const star = defineCommand(program, {
    name: "star",
    summary: "give a package a star; each account can give one",
    argument: "<package>",
    groups: [outputOptions, registryOption, tokenOption],
  })
    .option("--undo", "remove the star")
    .action((name: string, raw: RawRegistryOptions) =>
      run(raw, async (cli) => (await import("./write.ts")).star(cli, name, raw)),
    );
  explain(star, {
    examples: ["portolan star @alice/github-mcp", "portolan star @alice/github-mcp --undo"],
    sections: ["The account is the scope of the token.", CODES],
  });
}

function addOperatorCommands({ program, explain, run }: CommandHost): void {
  const registry = program.command("registry").description("run a registry, and manage its tokens");
  explain(registry, {
    examples: ["portolan registry serve ./registry", "portolan registry token add alice"],
  });
  const serve = defineCommand(registry, {
    name: "serve",
    summary: "serve a registry",
    argument: "[folder]",
    groups: [plainOutputOptions],
  })
    .option("--host <host>", "the address to listen at (default: 127.0.0.1)")
    .option("--port <port>", "the port to listen at; 0 is any free one (default: 7430)")
    .option("--max-file <bytes>", "the largest file that may be uploaded (default: 268435456)")
    .option("--private", "require a token for reading too")
    .option("--quota-bytes <bytes>", "bytes that one token may upload per day (default: 2147483648)")
    .option("--quota-versions <number>", "versions that one token may publish per day (default: 1000)")
    .option("--behind-proxy", "identify clients by X-Forwarded-For, which your reverse proxy must set")
    .action((folder: string | undefined, raw: RawRegistryServeOptions) =>
      run(
        { ...raw, text: raw.json !== true },
        async (cli) => (await import("./serve.ts")).serveRegistry(cli, folder, raw),
        {
          cancelling: "Stopping. Press Ctrl-C again to quit immediately.",
          exitCodes: { SIGINT: 130, SIGTERM: 0, SIGHUP: 0 },
        },
      ),
    );
  explain(serve, {
    examples: ["portolan registry serve", "portolan registry serve ./registry --port 8080"],
    sections: [
      `Addresses:
  /index.jsonl, /versions/, /files/   the signed index and the files it names; any web server can serve a copy of the folder public/ of the registry
  /api/search?q=, /api/registry/…     search, packages, publishing
  /v0.1/servers                       the official MCP registry API, read-only, for VS Code and other clients`,
      exitCodes({
        0: "stopped by SIGTERM or SIGHUP",
        2: "wrong usage, or a folder or port that cannot be used",
      }),
    ],
  });

  const sign = defineCommand(registry, {
    name: "sign",
    summary: "sign the index again, for a static copy or after a restored backup",
    groups: [outputOptions, folderOption],
  })
    .option("--valid-for <days>", "how many days clients accept the index (default: 7)")
    .action((raw: RawRegistryServeOptions) =>
      run(raw, async (cli) => (await import("./operate.ts")).signIndex(cli, raw)),
    );
  explain(sign, { examples: ["portolan registry sign --valid-for 90"], sections: [FOLDER_CODES] });

  const exported = defineCommand(registry, {
    name: "export",
    summary: "write a read-only copy of the registry into a folder for any web server",
    argument: "<target>",
    groups: [outputOptions, folderOption],
  })
    .option("--valid-for <days>", "how many days clients accept the copy (default: 90)")
    .action((target: string, raw: RawRegistryServeOptions) =>
      run(raw, async (cli) => (await import("./export.ts")).exportRegistry(cli, target, raw)),
    );
  explain(exported, {
    examples: ["portolan registry export ./site --folder ./registry"],
    sections: ["A copy is not renewed automatically. Export it again before it expires.", FOLDER_CODES],
  });

  const forget = defineCommand(registry, {
    name: "forget",
    summary: "remove the stored key of a registry; its next use stores and trusts the key that it then has",
    argument: "<url>",
    groups: [outputOptions],
  }).action((url: string, raw: RawRegistryOptions) =>
    run(raw, async (cli) => (await import("./operate.ts")).forget(cli, url)),
  );
  explain(forget, {
    examples: ["portolan registry forget https://registry.example.com"],
    sections: [exitCodes({ 0: "done, also if no key was stored", 2: "wrong usage" })],
  });
  addTokenCommands(registry, { program, explain, run, server: undefined });
}

function addTokenCommands(registry: Command, { explain, run }: CommandHost): void {
  const token = registry.command("token").description("manage the tokens of publishers");
  explain(token, { examples: ["portolan registry token add alice", "portolan registry token list"] });
  const add = defineCommand(token, {
    name: "add",
    summary: "create a token that owns a scope, and show it once",
    argument: "<scope>",
    groups: [plainOutputOptions, folderOption],
  })
    .option("--read", "a token that can only read a private registry and star packages")
    .option("--show", "print the token even when stdout is not a terminal")
    .action((scope: string, raw: RawRegistryServeOptions) =>
      run({ ...raw, text: raw.json !== true }, async (cli) =>
        (await import("./operate.ts")).addToken(cli, scope, raw),
      ),
    );
  explain(add, {
    examples: [
      "portolan registry token add alice",
      "portolan registry token add bob --read",
      "portolan registry token add '*' --folder ./registry",
    ],
    sections: [
      "The registry stores only the hash of a token. The scope * owns all scopes.",
      exitCodes({ 0: "done", 2: "wrong usage, or stdout is not a terminal and --show is missing" }),
    ],
  });
  const list = defineCommand(token, {
    name: "list",
    summary: "list the tokens by scope",
    groups: [outputOptions, folderOption],
  }).action((raw: RawRegistryServeOptions) =>
    run(raw, async (cli) => (await import("./operate.ts")).listTokens(cli, raw)),
  );
  explain(list, { examples: ["portolan registry token list"] });
  const remove = defineCommand(token, {
    name: "rm",
    summary: "remove a token; the registry refuses it from now on",
    argument: "<id>",
    groups: [outputOptions, folderOption],
  }).action((id: string, raw: RawRegistryServeOptions) =>
    run(raw, async (cli) => (await import("./operate.ts")).removeToken(cli, id, raw)),
  );
  explain(remove, { examples: ["portolan registry token rm 3f2a90c1d4e5"] });
}
