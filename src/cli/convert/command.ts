// `portolan init` and `portolan convert`: definitions and help.

import type { Command } from "commander";
import type { CommandHost } from "../context.ts";
import { collect, defineCommand, outputOptions } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { exitCodes } from "../output/help.ts";
import type { ConvertCommandOptions } from "./convert.ts";

const CODES = { 0: "done", 2: "wrong usage or input, or a file that cannot be used or written" };
const EXIT_CODES = exitCodes(CODES);
const FETCH_EXIT_CODES = exitCodes({
  ...CODES,
  3: "the API description cannot be fetched",
  124: "a time limit was exceeded",
});

export function addConvertCommands(host: CommandHost): void {
  addInit(host);
  addConvert(host);
}

function addInit({ program, explain, run, server = [] }: CommandHost): void {
  const init = defineCommand(program, {
    name: "init",
    summary: "write a config file to start from: portolan.yaml, an mcpfile or the metadata of a package",
    argument: "[folder...]",
    groups: [outputOptions],
  })
    .usage("[folder] [options]\n       portolan init mcpfile|package [path] [options]")
    .action((words: string[], raw: RawOptions) =>
      run(raw, async (cli) => (await import("./init.ts")).initWorkspace(cli, [...words, ...server])),
    );
  explain(init, {
    examples: ["portolan init", "portolan init mcpfile", "portolan init package"],
    sections: [
      "Without a kind, the command writes a portolan.yaml in which comments explain every part. An existing file is never overwritten.",
      "Run portolan init <kind> --help for the options of a kind.",
      EXIT_CODES,
    ],
  });

  const mcpfile = defineCommand(init, {
    name: "mcpfile",
    summary: "an mcpfile: tools that are commands and HTTP requests, without a server program",
    argument: "[path...]",
    groups: [outputOptions],
  })
    .usage("[path] [options]")
    .action((words: string[], _raw: RawOptions, command: Command) =>
      // Options that `init` has too are read by it.
      run(command.optsWithGlobals(), async (cli) =>
        (await import("./init.ts")).initMcpfile(cli, [...words, ...server]),
      ),
    );
  explain(mcpfile, {
    examples: ["portolan init mcpfile", "portolan init mcpfile tools/payments.mcpfile.yaml"],
    sections: [
      "The default path is mcpfile.yaml. The file works without changes. An existing file is never overwritten.",
      EXIT_CODES,
    ],
  });
  addInitPackage(init, { program, explain, run, server });
}

function addInitPackage(init: Command, { explain, run, server = [] }: CommandHost): void {
  const command = defineCommand(init, {
    name: "package",
    summary: "the metadata of a package: an MCP server that a registry lists",
    argument: "[folder...]",
    groups: [outputOptions],
  })
    .usage("[folder] [options]")
    .option("--name <name>", "the name of the package: @user/name")
    .action((words: string[], raw: RawOptions & { name?: string }, self: Command) =>
      // Options that `init` has too are read by it.
      run(self.optsWithGlobals(), async (cli) =>
        (await import("./init.ts")).initPackage(cli, [...words, ...server], raw),
      ),
    );
  explain(command, {
    examples: ["portolan init package", "portolan init package packages/github/ --name @alice/github-mcp"],
    sections: [
      "The file is mcp-package.jsonc: JSON with comments. portolan pack fills in the fields that it can derive from the server. An existing file is never overwritten.",
      EXIT_CODES,
    ],
  });
}

function addConvert({ program, explain, run, server = [] }: CommandHost): void {
  const convert = defineCommand(program, {
    name: "convert",
    summary: "convert an API description or an older mcpfile to an mcpfile",
  });
  explain(convert, {
    examples: [
      "portolan convert openapi petstore.json --out petstore.mcpfile.yaml",
      "portolan convert mcpfile old.yaml --out mcpfile.yaml",
    ],
    sections: ["Run portolan convert <kind> --help for the options of a kind."],
  });

  const openapi = defineCommand(convert, {
    name: "openapi",
    summary: "from a description of an HTTP API: OpenAPI 3 or Swagger 2, JSON or YAML",
    argument: "[source...]",
    groups: [outputOptions],
  })
    .usage("<file | url> [options]")
    .option("--out <path>", "write to this file, or into this folder, in place of stdout")
    .option("--base-url <url>", "the URL of the API, in place of the one in the description")
    .option(
      "--only <pattern>",
      "convert only these operations: a tool name, GET /path, /path or tag:name; * matches any text (repeatable)",
      collect,
    )
    .option("--split <how>", "write several files: tag (one for each tag) or size (as few as possible)")
    .option("--name <name>", "the name of the server, and the first part of the names of its secrets")
    .option("--force", "let --out overwrite a file")
    .action((words: string[], raw: ConvertCommandOptions) =>
      run(raw, async (cli) => (await import("./convert.ts")).convertApi(cli, [...words, ...server], raw)),
    );
  explain(openapi, {
    examples: [
      "portolan convert openapi petstore.json > petstore.mcpfile.yaml",
      "portolan convert openapi https://api.example.com/openapi.yaml --out example.mcpfile.yaml",
      "portolan convert openapi petstore.json --only 'GET *' --only tag:orders --name pets",
      "portolan convert openapi github.json --split tag --out github/",
      "portolan convert openapi petstore.json --json | jq '.skipped'",
    ],
    sections: [
      "Each operation becomes a tool. Operations that cannot be a tool are skipped and reported. Credentials become references to secrets, never values.",
      "A URL must be https, or http on this computer. Portolan fetches at most 16 MiB within 20 seconds, and follows no redirect to another host.",
      "If a description is too large for one file, Portolan makes one file for each tag. If the list of tools is too large for a language model, Portolan prints a warning.",
      `Output:
  The mcpfile goes to stdout, also when stdout is not a terminal; with --json, a JSON object that contains it. Skipped operations and warnings go to stderr.`,
      FETCH_EXIT_CODES,
    ],
  });

  const mcpfile = defineCommand(convert, {
    name: "mcpfile",
    summary: "from an mcpfile of an older version: one file of 0.2.0 for each server",
    argument: "[file...]",
    groups: [outputOptions],
  })
    .usage("<file> [options]")
    .option("--out <path>", "write to this file, or into this folder, in place of stdout")
    .option("--force", "let --out overwrite a file")
    .action((words: string[], raw: ConvertCommandOptions) =>
      run(raw, async (cli) => (await import("./convert.ts")).convertMcpfile(cli, [...words, ...server], raw)),
    );
  explain(mcpfile, {
    examples: [
      "portolan convert mcpfile mcpfile.yaml",
      "portolan convert mcpfile old.yaml --out new/",
      "portolan convert mcpfile mcpfile.yaml --out mcpfile.yaml --force",
    ],
    sections: [
      "A file with several servers becomes several files, and the settings of the server itself, such as its port, go into an mcpserver.yaml. The tools stay the same. If the command cannot keep a tool the same, it writes nothing.",
      `Output:
  The files go to stdout, one after the other; with --json, a JSON object that contains them.`,
      EXIT_CODES,
    ],
  });
}
