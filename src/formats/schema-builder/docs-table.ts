// Markdown table of a format's keys, for the reference pages.

import type { AnySchema } from "./schema.ts";

/** One row for each field; the fields of inner objects follow below it. */
export function toDocsTable(schema: AnySchema): string {
  const rows = rowsOf(schema, "").map((cells) => `| ${cells.join(" | ")} |`);
  return ["| Key | Value | Meaning |", "| --- | --- | --- |", ...rows].join("\n");
}

function rowsOf({ rules }: AnySchema, prefix: string): string[][] {
  const { fields = {}, keys } = rules;
  return Object.entries(fields).flatMap(([name, schema]) => {
    const { aliases = [], required, default: usual } = schema.field;
    const key = `${prefix}${keys?.get(name) ?? name}`;
    const notes = [
      ...(required === true ? ["Required."] : []),
      ...(usual === undefined ? [] : [`Default: \`${JSON.stringify(usual)}\`.`]),
      ...aliases.map((alias) => `Also written \`${alias}\`.`),
    ];
    const meaning = [schema.rules.description, ...notes].filter((part) => part !== "").join(" ");
    const cells = [`\`${key}\``, schema.rules.expected, meaning];
    return [cells.map((cell) => cell.replaceAll("|", "\\|")), ...rowsOf(schema, `${key}.`)];
  });
}
