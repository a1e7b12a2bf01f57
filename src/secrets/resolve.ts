// Resolves the secret references of one endpoint when its server starts. All missing and invalid references are reported at once.

import {
  type Diagnostic,
  type ErrorCode,
  missingSecrets,
  type MissingValue,
  PortolanError,
} from "../errors/index.ts";
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
  /** Folder of the config file. The path of a `${file:path}` is relative to it. */
  readonly baseDir: string;
  /** Contains the names while they are looked up. */
  readonly pending?: Set<string>;
}

export interface MissingSecret {
  readonly name: string;
  /** Place that needs the secret: `url`, `headers.Authorization`, `env.TOKEN`, `args[2]`. */
  readonly where: string;
  /** True if only the environment is searched. */
  readonly inEnvironment: boolean;
  /** True if a function of the program gives the values. */
  readonly ofProgram?: boolean;
}

export interface ResolveProblem {
  readonly code: ErrorCode;
  readonly where: string;
  /** The message never contains a secret value. */
  readonly message: string;
  /** Offset of the reference in the text at `where`. */
  readonly offset?: number;
  readonly hint?: string;
}

export interface ResolvedEndpoint {
  readonly ok: true;
  /** The same object if the endpoint has no references. */
  readonly endpoint: Endpoint;
  /** All secret values in the endpoint, for the redactor. Plain values such as `${HOME}` are not included. */
  readonly secrets: readonly Secret[];
  readonly warnings: readonly Diagnostic[];
}

export interface UnresolvedEndpoint {
  readonly ok: false;
  readonly missing: readonly MissingSecret[];
  readonly problems: readonly ResolveProblem[];
  /** The values that were found, for the redactor: the message of a failed source may contain one. */
  readonly secrets: readonly Secret[];
  /** The error of the first source that failed. */
  readonly cause?: unknown;
}

/** Looks up each reference once and inserts the values. Values are not searched for references. */
export async function resolveEndpoint(
  endpoint: Endpoint,
  store: SecretStore,
  { baseDir, pending }: ResolveOptions,
): Promise<ResolvedEndpoint | UnresolvedEndpoint> {
  const slots = textsOf(endpoint)
    .filter(({ text }) => text.includes("${"))
    .map((slot): Slot => ({ ...slot, ...parseReferences(slot.text) }));
  if (slots.length === 0) return { ok: true, endpoint, secrets: [], warnings: [] };

  const lookups = new Map<string, Promise<Lookup>>();
  for (const { parts } of slots)
    for (const part of parts)
      if (part.kind !== "text" && !lookups.has(keyOf(part))) {
        pending?.add(part.name);
        const lookup = lookUp(part, store, baseDir).finally(() => pending?.delete(part.name));
        lookups.set(keyOf(part), lookup);
      }
  const found = new Map(
    await Promise.all([...lookups].map(async ([key, lookup]) => [key, await lookup] as const)),
  );

  const outcome: Outcome = { missing: [], problems: [], warnings: [], secrets: new Map() };
  const texts = new Map<string, string>();
  for (const slot of slots) texts.set(slot.where, fillSlot(slot, found, outcome));
  const { problems, warnings, cause } = outcome;
  const secrets = [...outcome.secrets.values()];
  const { ofProgram } = store;
  const missing =
    ofProgram === true ? outcome.missing.map((one) => ({ ...one, ofProgram })) : outcome.missing;
  if (missing.length > 0 || problems.length > 0) return { ok: false, missing, problems, secrets, cause };
  return { ok: true, endpoint: withTexts(endpoint, texts), secrets, warnings };
}

/** Returns the error of a server whose references cannot be resolved. */
export function toSecretError(unresolved: UnresolvedEndpoint, server?: string): PortolanError {
  const { missing, problems, cause } = unresolved;
  const sentences: string[] = [];
  const lacking = missingSecrets(toMissingValues(missing));
  if (missing.length > 0) {
    sentences.push(lacking.message);
  }
  // A locked vault is the reason for every secret in it, and is reported once.
  const places = new Map<string, string[]>();
  for (const { where, message } of problems) places.set(message, [...(places.get(message) ?? []), where]);
  for (const [message, where] of places) sentences.push(`${where.join(", ")}: ${message}`);
  const first = missing[0]?.name;
  return new PortolanError(
    first === undefined ? (problems[0]?.code ?? "INTERNAL") : "SECRET_MISSING",
    sentences.join(" "),
    {
      server,
      hint: first === undefined ? problems[0]?.hint : lacking.hint,
      data: { missing, problems },
      cause,
    },
  );
}

function toMissingValues(missing: readonly MissingSecret[]): MissingValue[] {
  const names = new Map(missing.map((entry) => [entry.name, entry]));
  return [...names.values()].map(({ name, inEnvironment, ofProgram }) => ({
    name,
    places: missing.filter((entry) => entry.name === name).map(({ where }) => where),
    step: inEnvironment
      ? `define ${name} in the environment of Portolan`
      : ofProgram === true
        ? `return a value for ${name} from the secrets function of your program`
        : undefined,
  }));
}

interface Slot extends EndpointText, ParsedReferences {}

interface Outcome {
  readonly missing: MissingSecret[];
  readonly problems: ResolveProblem[];
  readonly warnings: Diagnostic[];
  /** The key is the value, so that the same secret is listed once. */
  readonly secrets: Map<string, Secret>;
  cause?: unknown;
}

const keyOf = ({ kind, name }: Reference): string => `${kind}:${name}`;

function fillSlot(slot: Slot, found: ReadonlyMap<string, Lookup>, outcome: Outcome): string {
  const { kind, where } = slot;
  const problem = (code: ErrorCode, message: string, more: Partial<ResolveProblem> = {}): void => {
    outcome.problems.push({ code, where, message, ...more });
  };
  for (const { message, offset } of slot.problems) problem("FILE_INVALID", message, { offset });
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
      // A store that cannot be read must not stop a server that has a default for this secret.
      outcome.warnings.push({
        code: "SECRET_STORE_FAILED",
        severity: "warning",
        message: `${where}: Portolan could not look up ${name}, and uses the default from the config. ${lookup.message}`,
        hint: lookup.hint,
      });
      return fallback;
    }
    broken = true;
    if (lookup.kind === "failed") outcome.cause ??= lookup.cause;
    if (lookup.kind === "missing")
      outcome.missing.push({ name, where, inEnvironment: reference.kind === "env" });
    else problem(lookup.code, lookup.message, { offset: start, hint: lookup.hint });
    return "";
  });
  if (broken) return filled;
  const wrong = unfit(kind, filled);
  if (wrong !== undefined) problem("FILE_INVALID", `The text ${wrong}.`);
  // The URL is checked here because the error of a later parser would contain the URL with its secrets.
  else if (kind === "url" && !URL.canParse(filled))
    problem("CONFIG_INVALID", "The text is not a valid URL after its references are resolved.");
  return filled;
}

/** Returns the reason why a value cannot be used in this kind of place. */
function unfit(kind: EndpointText["kind"], value: string): string | undefined {
  if (value.includes("\0")) return "contains a NUL character";
  if (kind !== "header" && kind !== "url") return undefined;
  if (/[\r\n]/.test(value)) return `contains a line break, which a ${kind} cannot contain`;
  return /[\u0001-\u0008\u000B\u000C\u000E-\u001F\u007F]/.test(value)
    ? "contains a control character"
    : undefined;
}

function visibleArgument(where: string, name: string): Diagnostic {
  return {
    code: "CONFIG_INVALID",
    severity: "warning",
    message: `${where} contains the secret ${name}: every user of this computer can see it in the list of processes.`,
    path: `/${where.replace("[", "/").replace("]", "")}`,
    hint: "If the server can read the secret from an environment variable, move the secret to env of the server.",
  };
}
