// Hints for a server that lacks something, such as a secret or its program: the setup instructions of its config file, and a .env
// file that nobody has allowed yet.

import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { firstWords } from "../../base/text/truncate.ts";
import { changedError, isPortolanError } from "../../errors/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import type { SecretStore } from "../../secrets/index.ts";

const SETUP_CHARS = 700;

interface Lacking {
  readonly config: Pick<ServerConfig, "setup" | "origin">;
  readonly secrets: Pick<SecretStore, "envFile" | "ofProgram">;
}

/** The same error, with more in its hint. */
export function withSetup(error: unknown, { config, secrets }: Lacking): unknown {
  if (!isPortolanError(error) || error.code === "CANCELLED") return error;
  const { setup, origin } = config;
  const beside = join(dirname(origin.file), ".env");
  const hints = [error.hint];
  const isOfProgram = origin.format === "program";
  // `portolan login` finds no server of a program by its name.
  const isLogin = error.code === "AUTH_REQUIRED" && error.data.login !== undefined;
  if (isLogin && isOfProgram)
    return changedError(error, {
      hint: 'Set auth or headers of the server in your program; see "In a program" in docs/guides/server-login.md.',
    });
  const isUnread = secrets.envFile === undefined && secrets.ofProgram !== true;
  if (error.code === "SECRET_MISSING" && isUnread && existsSync(beside))
    hints.push(
      isOfProgram
        ? `Portolan has not read ${beside}; to use this file, set the option envFile: true.`
        : `Portolan has not read the .env file beside ${basename(origin.file)}; to use it, add --env-file ${beside}, or envFile: true in a program.`,
    );
  if (setup !== undefined) {
    const where = origin.format === "manifest" ? basename(origin.file) : "the config file";
    hints.push(
      `Setup instructions of ${where}: ${firstWords(setup.trim().replaceAll(/\s+/g, " "), SETUP_CHARS)}`,
    );
  }
  return hints.length === 1 ? error : changedError(error, { hint: hints.filter(Boolean).join(" ") });
}
