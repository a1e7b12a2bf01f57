// Secrets from the environment: PORTOLAN_SECRET_NAME first, then NAME itself.

import { isReferenceName } from "../../model/index.ts";
import { Secret } from "../secret.ts";
import type { SecretSource } from "./source.ts";

const PREFIX = "PORTOLAN_SECRET_";

export type Environment = Readonly<Record<string, string | undefined>>;

export function createEnvironmentSource(env: Environment): SecretSource {
  // Not a lookup by index alone: a name such as `constructor` would find what every object has.
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
    /** Only what is marked as a secret: the rest of an environment is mostly something else. */
    async list() {
      return list();
    },
    async check() {
      const count = list().length;
      return { ok: true, note: `${count} ${count === 1 ? "variable" : "variables"} named ${PREFIX}…` };
    },
  };
}

/** Variables that say where and who, not what is secret; hiding their values would make paths in messages unreadable. */
const PLAIN =
  /^(HOME|USER|USERNAME|LOGNAME|PATH|PWD|OLDPWD|SHELL|TMPDIR|TEMP|TMP|LANG|LANGUAGE|LC_[A-Z]+|TERM|TZ|HOSTNAME|COMPUTERNAME|USERPROFILE|HOMEDRIVE|HOMEPATH|APPDATA|LOCALAPPDATA|PROGRAMDATA|PROGRAMFILES|SYSTEMROOT|WINDIR|XDG_[A-Z_]+|NODE_ENV|CI|DISPLAY|EDITOR)$/i;

/** Whether a value taken from the environment under this name is ordinary text. */
export function isPlainVariable(name: string): boolean {
  return PLAIN.test(name);
}
