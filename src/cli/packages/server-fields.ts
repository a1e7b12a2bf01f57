// The server of a package as portolan.yaml gets it: the package or program, its settings, and the granted sandbox.

import { isAbsolute, normalize } from "node:path";
import { definedOnly, filled, toSandboxFields } from "../../formats/manifest/index.ts";
import type { ServerFields } from "../../formats/workspace/index.ts";
import { escapeReferences, isObject, type PackageReference, type SandboxConfig } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { givenSandboxFlags, networkOf } from "../options/sandbox.ts";
import { throwUsageErrors } from "../options/usage-error.ts";
import type { Approval } from "./approval.ts";
import type { Candidate } from "./candidate.ts";
import type { SettingValue } from "./configuration.ts";
import type { ServerCandidate } from "./official/candidate.ts";

export function toFields(
  cli: Cli,
  candidate: Candidate | ServerCandidate,
  approval: Pick<Approval, "sandbox">,
  values: readonly SettingValue[],
): ServerFields {
  const env = Object.fromEntries(values.map(({ setting, text }) => [setting.variable, text]));
  const { reference, facts } = candidate;
  if ("locked" in candidate)
    return definedOnly<ServerFields>({
      package: writtenReference(reference, facts.version),
      env: filled(env),
      sandbox: grantedSandbox(cli, approval, values),
    });
  return withoutEmpty(candidate.toFields(env), sandboxOf(cli, candidate, approval, values));
}

/** The fields of an ordinary server for its trial: secrets that are not stored yet are in them as values. */
export function toTrialFields(
  cli: Cli,
  candidate: ServerCandidate,
  approval: Pick<Approval, "sandbox">,
  values: readonly SettingValue[],
): ServerFields {
  const env = values.map(({ setting, text, store }) => [
    setting.variable,
    store === undefined ? text : escapeReferences(store.value.reveal()),
  ]);
  const fields = candidate.toFields(Object.fromEntries(env) as Record<string, string>);
  return withoutEmpty(fields, sandboxOf(cli, candidate, approval, values));
}

function withoutEmpty(
  { args, env, headers, ...fields }: ServerFields,
  sandbox: ServerFields["sandbox"],
): ServerFields {
  return definedOnly<ServerFields>({
    ...fields,
    args: filled(args),
    env: filled(env),
    headers: filled(headers),
    sandbox,
  });
}

function sandboxOf(
  cli: Cli,
  { facts }: ServerCandidate,
  approval: Pick<Approval, "sandbox">,
  values: readonly SettingValue[],
): ServerFields["sandbox"] {
  if (facts.place !== "remote") return grantedSandbox(cli, approval, values);
  throwUsageErrors(
    givenSandboxFlags(cli.options.sandbox).map(
      (flag) => `${flag} is only for programs. A server behind a URL does not run on this machine`,
    ),
  );
  return undefined;
}

function grantedSandbox(
  cli: Cli,
  { sandbox = {} }: Pick<Approval, "sandbox">,
  values: readonly SettingValue[],
): ServerFields["sandbox"] {
  const problems: string[] = [];
  const { network, read, write, mode } = cli.options.sandbox;
  const hosts = networkOf(network, problems);
  throwUsageErrors(problems);
  const granted: SandboxConfig = {
    ...sandbox,
    mode: mode ?? sandbox.mode,
    network: [...new Set([...(sandbox.network ?? []), ...hosts])],
    fs: definedOnly({
      read: filled([...read.map(normalized), ...pathsOf(values, "file")]),
      write: filled([...write.map(normalized), ...pathsOf(values, "directory")]),
    }),
  };
  return toSandboxFields(definedOnly(granted));
}

/** The shell makes `/home/me/../notes` of `~/../notes`. A relative path stays as it was written. */
function normalized(path: string): string {
  return isAbsolute(path) ? normalize(path) : path;
}

/** Folders and files that a person chose as settings of this server are granted with them. */
function pathsOf(values: readonly SettingValue[], format: "file" | "directory"): string[] {
  return values.flatMap(({ setting: { schema }, text, from }) => {
    const own = isObject(schema.items) ? schema.items.format : schema.format;
    // The default value of a stranger is not a choice of this person.
    if (own !== format || from === "default" || text === "" || text.includes("${")) return [];
    return schema.type === "array" && text.startsWith("[") ? (JSON.parse(text) as string[]) : [text];
  });
}

/** The reference as the user wrote it. Without a version: the range of versions compatible with the found one. */
export function writtenReference(reference: PackageReference, version: string): string {
  if (reference.kind === "mcpb") return `mcpb:${reference.location}`;
  const range = reference.range ?? (reference.kind === "official" ? version : `^${version}`);
  return `${reference.name}@${range}`;
}
