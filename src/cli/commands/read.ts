// `portolan read`: one resource.

import { PortolanError } from "../../errors/index.ts";
import { type Cli, takeTarget, withServer, type Words } from "../connect.ts";
import { renderResource } from "../render.ts";
import { createSaver } from "../save-file.ts";

export interface ReadOptions {
  out?: string;
  force?: boolean;
}

export async function read(cli: Cli, words: Words, options: ReadOptions): Promise<number> {
  const { target, rest } = takeTarget(words, cli);
  const [uri, extra] = rest;
  if (uri === undefined)
    throw new PortolanError("USAGE", "No resource is given.", {
      hint: "portolan read <target> <uri>; portolan list shows the URIs.",
    });
  if (extra !== undefined)
    throw new PortolanError("USAGE", `read takes one URI; ${JSON.stringify(extra)} is too much.`);
  const saver = await createSaver({ out: options.out, force: options.force, cwd: cli.io.cwd });
  return withServer(cli, target, async ({ connection, request }) => {
    const result = await connection.readResource(uri, request(`reading ${uri}`));
    const { output } = cli;
    if (output.form === "json") output.json(result);
    if (output.form === "text" || options.out !== undefined) {
      const text = await renderResource(result, {
        colors: output.colors,
        save: saver.save,
        saveText: options.out !== undefined,
      });
      if (output.form === "text") output.print(text);
      else for (const path of saver.saved) output.note(`saved ${path}`);
    }
    return 0;
  });
}
