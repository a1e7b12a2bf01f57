// Findings as SARIF 2.1.0, which code hosts show beside the lines of a file.

import { relative, sep } from "node:path";
import { AUDIT_RULES, type AuditRule, type Finding } from "./findings.ts";

/** Paths are relative to the folder of the workspace, so that the report is the same on every machine. */
export function toSarif(
  findings: readonly Finding[],
  { folder, version }: { folder: string; version: string },
): object {
  const rules = (Object.keys(AUDIT_RULES) as AuditRule[]).map((id) => ({
    id,
    shortDescription: { text: AUDIT_RULES[id] },
  }));
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "portolan", version, rules } },
        columnKind: "utf16CodeUnits",
        results: findings.map(({ rule, severity, server, message, hint, file, line, part }) => ({
          ruleId: rule,
          ruleIndex: rules.findIndex(({ id }) => id === rule),
          level: severity,
          message: { text: hint === undefined ? message : `${message} ${hint}` },
          locations: [
            {
              physicalLocation: {
                artifactLocation: { uri: uriOf(file, folder) },
                region: { startLine: line ?? 1 },
              },
              logicalLocations: [{ name: server, kind: "module" }],
            },
          ],
          partialFingerprints: {
            "portolan/v1": [rule, server, ...(part === undefined ? [] : [part])].join("/"),
          },
        })),
      },
    ],
  };
}

function uriOf(file: string, folder: string): string {
  return relative(folder, file).split(sep).map(encodeURIComponent).join("/");
}
