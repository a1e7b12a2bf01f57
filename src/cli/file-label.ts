// What a declaration is about, in a few words, for the line that says whether it is valid.

import type { CatalogFile } from "../catalog/index.ts";
import { parseDriver, parseSecrets, parseSkill, parseTool } from "../formats/driver/index.ts";

/** `2 servers`, `filesystem-mcp@1.0.0, serves fs-read, fs-write` */
export function fileLabel({ file, format, aliases }: CatalogFile, text: string | undefined): string {
  const count = (number: number, word: string): string => `${number} ${word}${number === 1 ? "" : "s"}`;
  switch (format) {
    case "driver": {
      const { driver } = parseDriver(text ?? "", file);
      if (driver === undefined) return "driver";
      const served = driver.implements.map(({ tool }) =>
        tool.replace(/\/TOOL\.md$/, "").replace(/^.*\//, ""),
      );
      return `driver ${driver.id}@${driver.version}, for ${served.join(", ")}`;
    }
    case "tool": {
      const { contract } = parseTool(text ?? "", file);
      if (contract === undefined) return "contract";
      const examples =
        contract.examples.length === 0 ? "" : `, ${count(contract.examples.length, "example")}`;
      return `contract ${contract.id}@${contract.version}${examples}`;
    }
    case "secrets":
      return `secrets, ${count(parseSecrets(text ?? "", file).secrets.length, "entry").replace(/entrys$/, "entries")}`;
    case "skill": {
      const { skill } = parseSkill(text ?? "", file);
      return skill === undefined ? "skill" : `skill ${skill.name}`;
    }
    default:
      return `${format}, ${count(aliases.length, "server")}`;
  }
}
