// Source of secrets: the environment. PORTOLAN_SECRET_NAME takes precedence over NAME.

import { isReferenceName } from "../../model/index.ts";
import { Secret } from "../secret.ts";
import type { SecretSource } from "./source.ts";

const PREFIX = "PORTOLAN_SECRET_";

export type Environment = Readonly<Record<string, string | undefined>>;

export function createEnvironmentSource(env: Environment): SecretSource {
  // `Object.hasOwn` excludes inherited names such as `constructor`.
  const read = (name: string): string | undefined => (Object.hasOwn(env, name) ? env[name] : undefined);
  const list = (): string[] =>
    Object.keys(env)
      .filter((key) => key.startsWith(PREFIX) && read(key))
      .map((key) => key.slice(PREFIX.length))
      .filter(isReferenceName)
      .sort();
  return {
    name: "environment",
    async get(name) {
      const value = read(PREFIX + name) || read(name);
      return value ? new Secret(value) : undefined;
    },
    /** Lists only variables with the prefix, because most other variables are not secrets. */
    async list() {
      return list();
    },
    async check() {
      const count = list().length;
      return { ok: true, note: `${count} ${count === 1 ? "variable" : "variables"} named ${PREFIX}…` };
    },
  };
}

/** Variables that are not secret. Redacting their values would make paths in messages unreadable. */
const PLAIN =
  /^(HOME|USER|USERNAME|LOGNAME|PATH|PWD|OLDPWD|SHELL|TMPDIR|TEMP|TMP|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ|HOSTNAME|COMPUTERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES|SYSTEMROOT|WINDIR|XDG_[A-Z_]+|NODE_ENV|CI|DISPLAY|EDITOR)$/i;

/** Returns true if the environment variable of this name is not a secret. */
export function isPlainVariable(name: string): boolean {
  return PLAIN.test(name);
}
