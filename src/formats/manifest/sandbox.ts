// A checked `sandbox` block in the words of the model: paths whole, hosts in their one spelling, every problem with its place.

import {
  parseNetworkRule,
  type ResourceLimits,
  type SandboxDeclaration,
  type SandboxMode,
} from "../../model/index.ts";
import { entryOf, nodeAt, type Place, type Problems, quoted, type TextNode } from "../text/index.ts";
import { definedOnly, filled } from "./defined.ts";
import { wholePath } from "./paths.ts";
import type { CheckedSandbox, CheckedSandboxBlock } from "./sandbox-shape.ts";

/** Where the block stands: its paths are relative to `folder`. */
export interface SandboxContext {
  readonly node: TextNode | undefined;
  readonly folder: string;
  readonly problems: Problems;
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Nothing when nothing is said. With problems reported it may be half right, and is not to be used. */
export function toSandboxDeclaration(
  checked: CheckedSandbox | undefined,
  context: SandboxContext,
): SandboxDeclaration | undefined {
  if (checked === undefined) return undefined;
  if (typeof checked !== "object") return { mode: noted(toMode(checked), context.node, context.problems) };
  return definedOnly<SandboxDeclaration>({
    mode:
      checked.mode === undefined
        ? undefined
        : noted(toMode(checked.mode), nodeAt(context.node, "mode"), context.problems),
    backend: checked.backend,
    network: networkOf(checked.network, context),
    fs: filled(definedOnly(fsOf(checked, context))),
    env: filled(definedOnly(envOf(checked, context))),
    exec: filled(
      definedOnly({
        allow: each(checked.exec?.allow, context, ["exec", "allow"], programOf),
        spawn: checked.exec?.spawn,
      }),
    ),
    home: checked.home,
    limits: filled(limitsOf(checked.limits)),
    pathArguments: checked.path_arguments && pathArgumentsOf(checked.path_arguments, context),
  });
}

function toMode(written: SandboxMode | boolean): SandboxMode {
  if (typeof written !== "boolean") return written;
  return written ? "enforce" : "off";
}

/** Nobody should find out by accident what a server was allowed. */
function noted(mode: SandboxMode, place: Place | undefined, problems: Problems): SandboxMode {
  if (place === undefined || mode === "enforce") return mode;
  const [message, hint] =
    mode === "off"
      ? [
          "sandbox is off: the program gets every file, host and program that you have",
          "Without this line it gets what portolan why --plan shows; grant what it needs beside that.",
        ]
      : [
          "sandbox only warns: what this machine cannot hold, the program gets",
          "See what that is with portolan why --plan, and what would help with portolan doctor.",
        ];
  problems.add(place, message, hint, "info");
  return mode;
}

function networkOf(
  written: CheckedSandboxBlock["network"],
  context: SandboxContext,
): readonly string[] | undefined {
  const inside = written !== undefined && !isList(written);
  const hosts = inside ? (written.egress ?? []) : written;
  return each(hosts, context, inside ? ["network", "egress"] : ["network"], (text, place, { problems }) => {
    const parsed = parseNetworkRule(text);
    if (parsed.ok) return parsed.rule.text;
    problems.add(place, `${quoted(text)} is no host: ${lowerFirst(parsed.problem)}`, parsed.hint);
    return undefined;
  });
}

function fsOf({ fs }: CheckedSandboxBlock, context: SandboxContext): SandboxDeclaration["fs"] & object {
  const paths = (name: "read" | "write" | "deny"): readonly string[] | undefined =>
    each(fs?.[name], context, ["fs", name], (text, place, { folder, problems }) =>
      wholePath(text, folder, place, problems),
    );
  return { read: paths("read"), write: paths("write"), deny: paths("deny") };
}

function envOf({ env }: CheckedSandboxBlock, context: SandboxContext): SandboxDeclaration["env"] & object {
  const { node, problems } = context;
  for (const [name, value] of Object.entries<string | undefined>(env?.set ?? {})) {
    const entry = entryOf(nodeAt(node, "env", "set"), name);
    if (entry === undefined || value === undefined) continue;
    if (!VARIABLE.test(name)) notVariable(name, entry, problems);
    else if (value.includes("${"))
      problems.add(
        entry.value,
        `env.set takes ${name} as it is written, and it holds a reference`,
        "Write it in the server's own env, where references are resolved.",
      );
  }
  const pass = each(env?.pass, context, ["env", "pass"], (name, place) => {
    if (VARIABLE.test(name)) return name;
    notVariable(name, place, problems);
    return undefined;
  });
  return { pass, set: env?.set };
}

function notVariable(name: string, place: Place, problems: Problems): void {
  const equals = name.indexOf("=");
  const hint = equals > 0 ? "To give it a value, use set." : "Use letters, digits and _.";
  problems.add(place, `${quoted(name)} is not the name of a variable`, hint);
}

/** By name it is looked for where programs are; with a slash it is a path. */
function programOf(text: string, place: Place, { folder, problems }: SandboxContext): string | undefined {
  if (/\s/.test(text.trim()) && !text.includes("/")) {
    problems.add(place, `${quoted(text)} is no program`, "Name the program alone, without arguments.");
    return undefined;
  }
  return text.includes("/") || text.startsWith("~") ? wholePath(text, folder, place, problems) : text;
}

function limitsOf(limits: CheckedSandboxBlock["limits"]): ResourceLimits {
  return definedOnly<ResourceLimits>({
    memoryBytes: limits?.memory,
    processes: limits?.processes,
    openFiles: limits?.open_files,
    cpuSeconds: limits?.cpu === undefined ? undefined : Math.ceil(limits.cpu / 1_000),
    fileBytes: limits?.file_size,
    niceness: limits?.niceness,
  });
}

function pathArgumentsOf(
  written: Readonly<Record<string, readonly string[]>>,
  { node, problems }: SandboxContext,
): SandboxDeclaration["pathArguments"] {
  for (const [tool, names] of Object.entries(written)) {
    const entry = entryOf(nodeAt(node, "path_arguments") ?? nodeAt(node, "pathArguments"), tool);
    if (entry !== undefined && names?.length === 0)
      problems.warn(entry, `no argument of ${quoted(tool)} is named`, "Name the arguments that are paths.");
  }
  return written;
}

/** The good ones of a list, each with its place; nothing when there is no list. */
function each(
  list: readonly (string | undefined)[] | undefined,
  context: SandboxContext,
  path: readonly string[],
  convert: (text: string, place: Place, context: SandboxContext) => string | undefined,
): readonly string[] | undefined {
  return list?.flatMap((text, index) => {
    const place = nodeAt(context.node, ...path, index);
    if (text === undefined || place === undefined) return [];
    const converted = convert(text, place, context);
    return converted === undefined ? [] : [converted];
  });
}

function isList<T>(value: readonly T[] | object): value is readonly T[] {
  return Array.isArray(value);
}

function lowerFirst(text: string): string {
  return `${text.charAt(0).toLowerCase()}${text.slice(1).replace(/\.$/, "")}`;
}
