// Lints the definition of a tool for texts that try to steer a model. A tool with a
// finding of severity `error` is pinned only if a person allows it; other findings are advice.

import { isObject, type JsonObject } from "../../model/index.ts";
import { findHiddenText, withoutHiddenText } from "./hidden-text.ts";

export type LintRule =
  | "hidden-text"
  | "mixed-scripts"
  | "conceal"
  | "secret-files"
  | "destructive"
  | "emphasis"
  | "other-tools"
  | "long-text";

export interface LintFinding {
  readonly rule: LintRule;
  readonly severity: "info" | "warning" | "error";
  /** Where in the definition: `description`, `inputSchema.properties.path.description`. */
  readonly path: string;
  readonly message: string;
}

/** Longer descriptions cost every conversation, and may hide a text at their end. */
const LONG_TEXT = 4_000;
const MAX_TEXTS = 5_000;

interface Words {
  readonly rule: LintRule;
  readonly severity: "info" | "warning";
  readonly pattern: RegExp;
  readonly message: string;
}

const WORDS: readonly Words[] = [
  {
    rule: "conceal",
    severity: "warning",
    pattern:
      /\b(do not|don't|never|without|must not|avoid)\s+(\w+\s+){0,3}(tell|telling|mention|mentioning|inform|informing|reveal|notify|show|disclose|alert)\w*\b|\b(ignore|disregard|forget|override)\s+(\w+\s+){0,3}(previous|prior|above|earlier|all|other)\s+(\w+\s+){0,2}(instruction|prompt|rule|message|direction)s?|\b(secretly|covertly)\b|\bsilently\s+(\w+\s+){0,2}(send|forward|upload|post|copy|read|pass|include|call|use|run|execute|add|attach|append|log|record|collect|store|save|delete|change|replace)\w*\b|<(important|system|secret|hidden|instructions?)>/i,
    message: "asks a model to hide something or to ignore other instructions",
  },
  {
    rule: "secret-files",
    severity: "warning",
    pattern:
      /~\/\.(ssh|aws|gnupg|kube|docker|npmrc|netrc|cursor|claude)\b|\bid_(rsa|ed25519|ecdsa)\b|\/etc\/(passwd|shadow)\b|\.env\b(?!ironment)|\b(private|secret|api|access)[ _-]?keys?\b.{0,40}\b(send|upload|post|include|pass|append)\b|\b(send|upload|post|include|pass|append)\b.{0,60}\b(private|secret|api|access)[ _-]?keys?\b|\bmcp\.json\b/i,
    message: "names files or values that are usually secret",
  },
  {
    rule: "destructive",
    severity: "info",
    pattern:
      /\brm\s+-rf\b|\bdrop\s+(table|database)\b|\bcurl\b[^|\n]{0,200}\|\s*(ba|z)?sh\b|\beval\(|\bmkfs\b|\bformat\s+c:/i,
    message: "contains a destructive command",
  },
];

const EMPHASIS = /\b(IMPORTANT|CRITICAL|MANDATORY|MUST|ALWAYS|NEVER|URGENT|REQUIRED|WARNING)\b/g;

/** `others` are the names of tools of other servers: a definition that mentions one may try to change its use. */
export function lintDefinition(tool: JsonObject, others: ReadonlySet<string> = new Set()): LintFinding[] {
  const findings: LintFinding[] = [];
  for (const { path, text } of textsOf(tool)) {
    lintCharacters(path, text, findings);
    lintWords(path, text, others, findings);
  }
  return findings;
}

function lintCharacters(path: string, text: string, findings: LintFinding[]): void {
  const hidden = findHiddenText(text);
  if (hidden !== undefined) {
    const spelled =
      hidden.decoded === undefined ? "" : `, which spell ${JSON.stringify(hidden.decoded.slice(0, 200))}`;
    findings.push({
      rule: "hidden-text",
      severity: hidden.decoded !== undefined || hidden.kinds.length >= 3 ? "error" : "warning",
      path,
      message: `contains ${hidden.kinds.join(", ")}${spelled}`,
    });
  }
  if ((path === "name" || path.endsWith("(key)")) && hasMixedScripts(text))
    findings.push({
      rule: "mixed-scripts",
      severity: "warning",
      path,
      message: `${JSON.stringify(text)} mixes letters of several scripts that look alike`,
    });
  if (text.length > LONG_TEXT)
    findings.push({
      rule: "long-text",
      severity: "info",
      path,
      message: `is very long: ${text.length} characters`,
    });
}

function hasMixedScripts(text: string): boolean {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];
  return scripts.filter((script) => script.test(text)).length > 1;
}

function lintWords(path: string, text: string, others: ReadonlySet<string>, findings: LintFinding[]): void {
  const plain = withoutHiddenText(text).normalize("NFKC").slice(0, 100_000);
  for (const { rule, severity, pattern, message } of WORDS) {
    const found = pattern.exec(plain);
    if (found !== null)
      findings.push({
        rule,
        severity,
        path,
        message: `${message}: ${JSON.stringify(found[0].slice(0, 80))}`,
      });
  }
  const loud = plain.match(EMPHASIS) ?? [];
  if (loud.length >= 3)
    findings.push({
      rule: "emphasis",
      severity: "info",
      path,
      message: `uses insistent words: ${[...new Set(loud)].join(", ")}`,
    });
  const named = [...new Set(plain.match(/[A-Za-z][\w-]{3,63}/g) ?? [])].filter(
    (word) => word.includes("_") && others.has(word),
  );
  if (named.length > 0)
    findings.push({
      rule: "other-tools",
      severity: "warning",
      path,
      message: `mentions tools of other servers: ${named.slice(0, 5).join(", ")}`,
    });
}

/** Every text of a definition, also the keys of its schemas. */
function* textsOf(tool: JsonObject): Generator<{ path: string; text: string }> {
  const todo: { path: string; value: unknown }[] = [{ path: "", value: { ...tool, _meta: undefined } }];
  let count = 0;
  for (let next = todo.pop(); next !== undefined && count < MAX_TEXTS; next = todo.pop()) {
    const { path, value } = next;
    if (typeof value === "string") {
      count += 1;
      yield { path, text: value };
    } else if (Array.isArray(value))
      for (const [index, item] of value.entries()) todo.push({ path: `${path}[${index}]`, value: item });
    else if (isObject(value))
      for (const [key, inner] of Object.entries(value)) {
        const inside = path === "" ? key : `${path}.${key}`;
        if (path.includes("Schema")) {
          count += 1;
          yield { path: `${inside} (key)`, text: key };
        }
        todo.push({ path: inside, value: inner });
      }
  }
}
