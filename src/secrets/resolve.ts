// The references of one endpoint replaced by their values, when its server starts. Everything that is missing or wrong is said at once.

import { type Diagnostic, type ErrorCode, PortolanError } from "../errors/index.ts";
import {
  type Endpoint,
  fillReferences,
  type ParsedReferences,
  parseReferences,
  type Reference,
} from "../model/index.ts";
import { type EndpointText, textsOf, withTexts } from "./endpoint-texts.ts";
import { type Lookup, lookUp } from "./lookup.ts";
import type { Secret } from "./secret.ts";
import type { SecretStore } from "./store.ts";

export interface ResolveOptions {
  /** What the path of a `${file:path}` is relative to: the folder of the declaration. */
  readonly baseDir: string;
}

export interface MissingSecret {
  readonly name: string;
  /** Where it is needed: `url`, `headers.Authorization`, `env.TOKEN`, `args[2]`. */
  readonly where: string;
  /** It is only looked for in the environment. */
  readonly inEnvironment: boolean;
}

export interface ResolveProblem {
  readonly code: ErrorCode;
  readonly where: string;
  /** Never holds a value. */
  readonly message: string;
  /** In the text at `where`, when it is about one reference. */
  readonly offset?: number | undefined;
  readonly hint?: string | undefined;
}

export interface ResolvedEndpoint {
  readonly ok: true;
  /** The same object when there was nothing to replace. */
  readonly endpoint: Endpoint;
  /** Every value that went in, for the redactor; without those that are no secrets, such as `${HOME}`. */
  readonly secrets: readonly Secret[];
  readonly warnings: readonly Diagnostic[];
}

export interface UnresolvedEndpoint {
  readonly ok: false;
  readonly missing: readonly MissingSecret[];
  readonly problems: readonly ResolveProblem[];
}

/** Looks every reference up once and puts the values in. A value is never read for references again. */
export async function resolveEndpoint(
  endpoint: Endpoint,
  store: SecretStore,
  { baseDir }: ResolveOptions,
): Promise<ResolvedEndpoint | UnresolvedEndpoint> {
  const slots = textsOf(endpoint)
    .filter(({ text }) => text.includes("${"))
    .map((slot): Slot => ({ ...slot, ...parseReferences(slot.text) }));
  if (slots.length === 0) return { ok: true, endpoint, secrets: [], warnings: [] };

  const lookups = new Map<string, Promise<Lookup>>();
  for (const { parts } of slots)
    for (const part of parts)
      if (part.kind !== "text" && !lookups.has(keyOf(part)))
        lookups.set(keyOf(part), lookUp(part, store, baseDir));
  const found = new Map(
    await Promise.all([...lookups].map(async ([key, lookup]) => [key, await lookup] as const)),
  );

  const outcome: Outcome = { missing: [], problems: [], warnings: [], secrets: new Map() };
  const texts = new Map<string, string>();
  for (const slot of slots) texts.set(slot.where, fillSlot(slot, found, outcome));
  const { missing, problems, warnings, secrets } = outcome;
  if (missing.length > 0 || problems.length > 0) return { ok: false, missing, problems };
  return { ok: true, endpoint: withTexts(endpoint, texts), secrets: [...secrets.values()], warnings };
}

/** The error that a server which needs these secrets shows. */
export function toSecretError(unresolved: UnresolvedEndpoint, server?: string): PortolanError {
  const { missing, problems } = unresolved;
  const sentences: string[] = [];
  if (missing.length > 0) {
    const names = [...new Set(missing.map(({ name }) => name))].map((name) => {
      const places = missing.filter((entry) => entry.name === name).map(({ where }) => where);
      return `${name} (for ${places.join(", ")})`;
    });
    sentences.push(`${names.length === 1 ? "A secret is" : "Secrets are"} missing: ${names.join("; ")}.`);
  }
  for (const { where, message } of problems) sentences.push(`${where}: ${message}`);
  const first = missing[0]?.name;
  return new PortolanError(
    first === undefined ? (problems[0]?.code ?? "INTERNAL") : "SECRET_MISSING",
    sentences.join(" "),
    {
      server,
      hint: first === undefined ? problems[0]?.hint : settingHint(missing),
      data: { missing, problems },
    },
  );
}

/** How to set them: in the environment what is only looked for there, else in a store. */
function settingHint(missing: readonly MissingSecret[]): string {
  const steps = new Map(
    missing.map(({ name, inEnvironment }) => [
      name,
      inEnvironment ? `give ${name} in the environment` : `portolan secrets set ${name}`,
    ]),
  );
  return `Set ${steps.size === 1 ? "it" : "them"}: ${[...steps.values()].join("; ")}.`;
}

interface Slot extends EndpointText, ParsedReferences {}

interface Outcome {
  readonly missing: MissingSecret[];
  readonly problems: ResolveProblem[];
  readonly warnings: Diagnostic[];
  /** By value: the same one twice is one. */
  readonly secrets: Map<string, Secret>;
}

const keyOf = ({ kind, name }: Reference): string => `${kind}:${name}`;

function fillSlot(slot: Slot, found: ReadonlyMap<string, Lookup>, outcome: Outcome): string {
  const { kind, where } = slot;
  const problem = (code: ErrorCode, message: string, more: Partial<ResolveProblem> = {}): void => {
    outcome.problems.push({ code, where, message, ...more });
  };
  for (const { message, offset } of slot.problems) problem("DECLARATION_INVALID", message, { offset });
  let broken = slot.problems.length > 0;

  const filled = fillReferences(slot.parts, (reference) => {
    const { name, start, fallback } = reference;
    const lookup = found.get(keyOf(reference)) as Lookup;
    if (lookup.kind === "found") {
      const value = lookup.secret.reveal();
      const wrong = unfit(kind, value);
      if (wrong !== undefined) {
        broken = true;
        problem("CONFIG_INVALID", `The value of ${name} ${wrong}.`, { offset: start });
      }
      if (lookup.plain) return value;
      outcome.secrets.set(value, lookup.secret);
      if (kind === "arg") outcome.warnings.push(visibleArgument(where, name));
      return value;
    }
    if (fallback !== undefined && lookup.kind === "missing") return fallback;
    if (fallback !== undefined && lookup.kind === "failed" && lookup.code === "SECRET_STORE_FAILED") {
      // The store may or may not have it; that it cannot be asked must not stop what works without it.
      outcome.warnings.push({
        code: "SECRET_STORE_FAILED",
        severity: "warning",
        message: `${where}: the default of ${name} is used, since a secret store cannot be read`,
        hint: lookup.hint,
      });
      return fallback;
    }
    broken = true;
    if (lookup.kind === "missing")
      outcome.missing.push({ name, where, inEnvironment: reference.kind === "env" });
    else problem(lookup.code, lookup.message, { offset: start, hint: lookup.hint });
    return "";
  });
  if (broken) return filled;
  const wrong = unfit(kind, filled);
  if (wrong !== undefined) problem("DECLARATION_INVALID", `The text ${wrong}.`);
  // Here, and not where it is used: the error of a URL that cannot be read repeats it, with the secrets in it.
  else if (kind === "url" && !URL.canParse(filled))
    problem("CONFIG_INVALID", "With the values of its references, this is not a URL.");
  return filled;
}

/** Why a value cannot stand in such a place. */
function unfit(kind: EndpointText["kind"], value: string): string | undefined {
  if (value.includes("\0")) return "holds a NUL character";
  if (kind !== "header" && kind !== "url") return undefined;
  if (/[\r\n]/.test(value)) return `holds a line break, which a ${kind} cannot carry`;
  return /[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F]/.test(value)
    ? "holds a control character"
    : undefined;
}

function visibleArgument(where: string, name: string): Diagnostic {
  return {
    code: "CONFIG_INVALID",
    severity: "warning",
    message: `${where} holds the secret ${name}: every user of this computer can see it in the list of processes.`,
    path: `/${where.replace("[", "/").replace("]", "")}`,
    hint: "Pass it in env, if the server takes it from there.",
  };
}
