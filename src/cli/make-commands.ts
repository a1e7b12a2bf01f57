// The commands that make declarations: init, convert.

import { addOutputOptions, collect, type RawOptions } from "./options.ts";
import {
  CONVERT_API_HELP,
  CONVERT_HELP,
  CONVERT_MCPFILE_HELP,
  INIT_HELP,
  INIT_MCPFILE_HELP,
} from "./help-make.ts";
import type { Host } from "./workspace-commands.ts";

type ConvertOptions = RawOptions & {
  out?: string;
  force?: boolean;
  baseUrl?: string;
  only?: string[];
  name?: string;
};

export function addMakeCommands({ program, explain, run, server = [] }: Host): void {
  const init = program.command("init").description("write a declaration to begin with");
  explain(init, INIT_HELP);
  explain(
    addOutputOptions(
      init
        .command("mcpfile")
        .description("an mcpfile: tools that are commands and HTTP requests, without a server program")
        .argument("[path...]"),
    )
      .usage("[path] [options]")
      .action((words: string[], raw: RawOptions) =>
        run(raw, async (cli) => (await import("./commands/init.ts")).initMcpfile(cli, [...words, ...server])),
      ),
    INIT_MCPFILE_HELP,
  );

  const convert = program.command("convert").description("make an mcpfile from something else");
  explain(convert, CONVERT_HELP);
  explain(
    addOutputOptions(
      convert
        .command("openapi")
        .description("from a description of an HTTP API: OpenAPI 3 or Swagger 2, JSON or YAML")
        .argument("[source...]"),
    )
      .usage("<file | url> [options]")
      .option("--out <path>", "write it to this file, or into this folder, in place of stdout")
      .option("--base-url <url>", "where the API is, in place of what the description says")
      .option("--only <pattern>", "a tool's name, GET /path, /path or tag:name, with * (repeatable)", collect)
      .option("--name <name>", "the name of the server, and the first part of the names of its secrets")
      .option("--force", "let --out overwrite a file")
      .action((words: string[], raw: ConvertOptions) =>
        run(raw, async (cli) =>
          (await import("./commands/convert.ts")).convertApi(cli, [...words, ...server], raw),
        ),
      ),
    CONVERT_API_HELP,
  );
  explain(
    addOutputOptions(
      convert
        .command("mcpfile")
        .description("from an mcpfile of an older version: one file of 0.2.0 for each server")
        .argument("[file...]"),
    )
      .usage("<file> [options]")
      .option("--out <path>", "write it to this file, or into this folder, in place of stdout")
      .option("--force", "let --out overwrite a file")
      .action((words: string[], raw: ConvertOptions) =>
        run(raw, async (cli) =>
          (await import("./commands/convert.ts")).convertMcpfile(cli, [...words, ...server], raw),
        ),
      ),
    CONVERT_MCPFILE_HELP,
  );
}
