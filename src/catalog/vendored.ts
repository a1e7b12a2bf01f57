// Programs that a driver says lie beside it, and that do not.

import type { Diagnostic } from "../errors/index.ts";
import { isFile } from "./driver-reader.ts";
import { driverFormats } from "./formats.ts";

/** Not kept with the text of the file: the program may come or go without it. */
export async function checkVendored(text: string, file: string): Promise<readonly Diagnostic[]> {
  const { vendoredPrograms } = await driverFormats();
  const found = vendoredPrograms(text, file).map(async ({ path, line, column }): Promise<Diagnostic[]> => {
    if (await isFile(path)) return [];
    const message = `the vendored program ${path} is not there`;
    const hint = "Put it there; the path is relative to this file.";
    return [{ code: "DECLARATION_INVALID", severity: "warning", message, hint, file, line, column }];
  });
  return (await Promise.all(found)).flat();
}
