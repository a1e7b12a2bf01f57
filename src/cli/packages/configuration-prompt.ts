// Prompts for the settings of a package, and the error that lists them where nobody can be asked.

import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { PortolanError } from "../../errors/index.ts";
import { readText, toPlain } from "../../formats/document/index.ts";
import { formatReference, isObject, isReferenceName, type JsonObject } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests } from "../input/handlers.ts";
import type { Prompter } from "../terminal/prompter.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { type Configuration, parseSetting, type SettingValue, typedValue } from "./configuration.ts";
import type { Setting } from "./facts.ts";

const MAX_FILE_BYTES = 1024 * 1024;

export interface RawConfigurationOptions {
  config?: string[];
  configFile?: string;
}

/** The values of `--config` and `--config-file`. Errors never repeat a value, which may be a secret. */
export async function readConfigurationOptions(
  cli: Cli,
  { config = [], configFile }: RawConfigurationOptions,
): Promise<{ readonly options: ReadonlyMap<string, string>; readonly file: JsonObject }> {
  const options = new Map<string, string>();
  for (const pair of config) {
    const at = pair.indexOf("=");
    if (at <= 0)
      throw new PortolanError("USAGE", "--config must be key=value.", {
        hint: "For example --config api_url=https://api.example.com.",
      });
    if (options.has(pair.slice(0, at)))
      throw new PortolanError("USAGE", `--config ${pair.slice(0, at)} is given twice.`);
    options.set(pair.slice(0, at), pair.slice(at + 1));
  }
  return { options, file: configFile === undefined ? {} : await readValues(cli, configFile) };
}

async function readValues(cli: Cli, name: string): Promise<JsonObject> {
  const path = resolve(cli.io.cwd, name);
  const bytes = await readFile(path).catch((cause: NodeJS.ErrnoException) => {
    const reason = cause.code === "ENOENT" ? "there is no such file" : cause.message;
    throw new PortolanError("FILE_FAILED", `${name} cannot be read: ${reason}.`, { cause });
  });
  if (bytes.length > MAX_FILE_BYTES)
    throw new PortolanError("FILE_FAILED", `${name} has more than 1 MiB.`, {
      hint: "Check that --config-file names the file with the settings.",
    });
  const { root, diagnostics } = readText(bytes.toString("utf8"), path);
  const value = root === undefined ? undefined : toPlain(root);
  const [first] = diagnostics;
  if (isObject(value) && first === undefined) return value;
  throw new PortolanError(
    "FILE_INVALID",
    first === undefined
      ? `${name} does not contain an object.`
      : `${name}:${first.line ?? 1}: the file is not valid JSON or YAML.`,
    { hint: "Write an object: the name of each setting with its value." },
  );
}

/**
 * Asks for the open settings. Where nobody can be asked, throws one error that lists every missing setting with its option.
 * An optional setting without an answer is left out.
 */
export async function completeConfiguration(
  cli: Cli,
  { values, open, problems }: Configuration,
  packageName: string,
): Promise<readonly SettingValue[]> {
  if (problems.length > 0)
    throw new PortolanError("USAGE", problems.join("\n"), { data: { problems: [...problems] } });
  const required = open.filter((setting) => setting.required);
  if (!answersRequests(cli, false)) {
    if (required.length > 0) throw missingError(required, cli);
    return values;
  }
  const typed: SettingValue[] = [];
  if (open.length > 0) {
    const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
    for (const setting of open) {
      const value = await ask(cli, prompter, setting, packageName);
      if (value !== undefined) typed.push(value);
    }
  }
  return [...values, ...typed];
}

function missingError(required: readonly Setting[], { io }: Cli): PortolanError {
  const lines = required.map(({ key, variable, secret, description }) => {
    const about = description === undefined ? "" : ` (${plainLine(description, 100)})`;
    const isSet = (io.env[variable] ?? "") !== "";
    const option = secret
      ? `--config '${key}={{${isReferenceName(variable) ? variable : "NAME"}}}'`
      : `--config ${key}=<value>`;
    const note = !secret
      ? ""
      : isSet
        ? `; ${variable} is set in the environment`
        : `; store the secret first: portolan secrets set ${variable}`;
    return `${plainLine(key, 100)}${about}: ${option}${note}`;
  });
  return new PortolanError(
    "SECRET_MISSING",
    `${required.length === 1 ? "A setting has" : "Settings have"} no value:\n${lines.join("\n")}`,
    {
      hint: "Set the values with these options or in a file (--config-file), or run the command at a terminal.",
      data: { missing: required.map(({ key, variable, secret }) => ({ key, variable, secret })) },
    },
  );
}

async function ask(
  cli: Cli,
  prompter: Prompter,
  setting: Setting,
  packageName: string,
): Promise<SettingValue | undefined> {
  const { signal } = cli.interrupt;
  const { schema, required, secret, variable } = setting;
  const message = labelOf(setting);
  const typed = (text: string): Promise<SettingValue> => typedValue(setting, packageName, text);
  const select = async (options: { value: string; label: string }[]): Promise<string> =>
    orCancelled(await prompter.select({ message, options, initial: options[0]?.value, signal }));
  const skip = required ? [] : [{ value: "", label: "(no value)" }];
  if (secret) {
    const inEnvironment = (cli.io.env[variable] ?? "") !== "" && isReferenceName(variable);
    if (inEnvironment) {
      const choice = await select([
        { value: "type", label: "Type the value; Portolan stores it in the keyring or the vault" },
        { value: "environment", label: `Use the variable ${variable} of your environment at each start` },
        ...skip,
      ]);
      if (choice === "") return undefined;
      if (choice === "environment")
        return {
          ...{ setting, from: "environment" as const },
          text: formatReference({ kind: "secret", name: variable }),
        };
    }
    const text = orCancelled(
      await prompter.password({
        message,
        check: (given) => (given === "" && required ? "A value is needed; Ctrl-C cancels." : undefined),
        signal,
      }),
    );
    return text === "" ? undefined : typed(text);
  }
  if (schema.type === "boolean") {
    const value = await select([{ value: "true", label: "Yes" }, { value: "false", label: "No" }, ...skip]);
    return value === "" ? undefined : typed(value);
  }
  if (Array.isArray(schema.enum)) {
    const value = await select([
      ...schema.enum.map((one) => ({ value: String(one), label: plainLine(String(one), 120) })),
      ...skip,
    ]);
    return value === "" ? undefined : typed(value);
  }
  for (let problem = ""; ;) {
    const text = orCancelled(
      await prompter.text({
        message: problem === "" ? message : `${message} (your value was not accepted: it ${problem})`,
        initial: "",
        check: (given) => (given === "" && required ? "A value is needed; Ctrl-C cancels." : undefined),
        signal,
      }),
    );
    if (text === "") return undefined;
    const parsed = await parseSetting(setting, text);
    if (!("problem" in parsed)) return typed(text);
    problem = parsed.problem;
  }
}

function labelOf({ key, description, schema, required }: Setting): string {
  const kind = schema.type === "array" ? " (several, separated by commas)" : "";
  const about = description === undefined ? "" : ` - ${plainLine(description, 300)}`;
  return `${plainLine(key, 80)}${kind}${required ? "" : " (optional)"}${about}`;
}

export function orCancelled<T>(value: T | undefined): T {
  if (value !== undefined) return value;
  throw new PortolanError("CANCELLED", "Cancelled. Nothing was changed.", { hint: "" });
}
