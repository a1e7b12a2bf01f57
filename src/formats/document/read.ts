// The reader that fits a file's name: JSON for .json and .jsonc, YAML for everything else.

import type { ReadResult } from "./node.ts";
import { readJson } from "./read-json.ts";
import { readYaml } from "./read-yaml.ts";

export function readText(text: string, file: string): ReadResult {
  return /\.jsonc?$/i.test(file) ? readJson(text, file) : readYaml(text, file);
}
