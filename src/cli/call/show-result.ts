// Output of `call`, `read` and `prompt`: JSON as the server sent it, or text, with bytes saved as files.

import type { Cli } from "../context.ts";
import type { RenderContext } from "./render.ts";
import { createSaver, type Saver } from "./save-file.ts";

export interface ResultOptions {
  out?: string;
  force?: boolean;
}

/** Checks --out before the request is made, so that no result is lost to a wrong path. */
export function openSaver({ io }: Cli, { out, force }: ResultOptions): Promise<Saver> {
  return createSaver({ out, force, cwd: io.cwd });
}

export async function showResult<T>(
  result: T,
  render: (result: T, context: RenderContext) => Promise<string>,
  { output }: Cli,
  saver: Saver,
  { out, saveText }: { readonly out: string | undefined; readonly saveText: boolean },
): Promise<void> {
  if (output.form === "json") output.json(result);
  if (output.form === "json" && out === undefined) return;
  const text = await render(result, { colors: output.colors, save: saver.save, saveText });
  if (output.form === "text") output.print(text);
  else for (const path of saver.saved) output.note(`saved ${path}`);
}
