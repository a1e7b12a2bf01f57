// `portolan secrets`: definitions and help of its subcommands.

import type { Command } from "commander";
import type { CommandHost } from "../context.ts";
import { defineCommand, outputOptions, workspaceOption } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { exitCodes, OUTPUT } from "../output/help.ts";
import type { PassphraseOptions } from "./passphrase.ts";
import type { SecretsOptions } from "./secrets.ts";
import type { UnlockOptions } from "./unlock.ts";

const VAULT = `Vault:
  A command that needs a locked vault asks for its passphrase at the terminal. The vault then stays unlocked for 15 minutes. To change this time, set PORTOLAN_VAULT_TIMEOUT to a time such as 30m or 1h; with 0, the vault does not stay unlocked. A background process keeps the key of the vault in memory, never on disk. portolan secrets lock locks the vault again. On Windows, the vault does not stay unlocked. Without a terminal, set PORTOLAN_VAULT_PASSPHRASE_FILE to the path of a file that contains the passphrase.`;

const EXIT_CODES = { 0: "done", 2: "wrong usage or input, or a file that cannot be used" };

export function addSecretsCommands({ program, explain, run, server = [] }: CommandHost): void {
  const secrets = defineCommand(program, {
    name: "secrets",
    summary: "store the secret values that config files refer to by name",
  });
  explain(secrets, {
    examples: ["portolan secrets set GITHUB_TOKEN", "portolan secrets check"],
    sections: [
      "A config file refers to a secret by its name: ${NAME}, ${NAME:-default}, ${secrets.NAME}. Portolan searches for the value in this order: the environment (PORTOLAN_SECRET_NAME, then NAME), the system's keyring, an encrypted file (the vault), and the .env file that portolan.yaml names (env_file). No command shows a value.",
      "Run portolan secrets <command> --help for the options of a command.",
    ],
  });

  type Work = "setSecret" | "listSecrets" | "removeSecret" | "checkSecrets";
  const define = (name: string, summary: string, argument: string, work: Work): Command =>
    defineCommand(secrets, { name, summary, argument, groups: [outputOptions, workspaceOption] }).action(
      (words: string[], raw: RawOptions & SecretsOptions) =>
        run(raw, async (cli) => (await import("./secrets.ts"))[work](cli, [...words, ...server], raw)),
    );

  const set = define("set", "set a secret; its value is typed or piped in", "[NAME...]", "setSecret")
    .usage("<NAME> [options]")
    .option("--to <place>", "where to store it: keyring or vault")
    // An unknown option may be a secret value in the wrong place: the command refuses it without repeating it.
    .allowUnknownOption();
  explain(set, {
    examples: [
      "portolan secrets set GITHUB_TOKEN",
      "gh auth token | portolan secrets set GITHUB_TOKEN",
      "portolan secrets set DEPLOY_KEY --to vault < key.pem",
    ],
    sections: [
      "The command asks for the value without showing it, or reads the value from stdin if stdin is not a terminal (a line break at the end is removed). The value is never an argument of the command. Without --to, the command stores the value in the system's keyring if the keyring works, otherwise in the vault.",
      VAULT,
      OUTPUT,
      exitCodes(EXIT_CODES),
    ],
  });

  const list = define(
    "list",
    "show the names of secrets and where they are stored",
    "[words...]",
    "listSecrets",
  );
  explain(list.usage("[options]"), {
    examples: ["portolan secrets list", "portolan secrets list --json | jq -r '.secrets[].name'"],
    sections: [
      "Lists names and their sources, in the order in which Portolan searches them. From the environment, it lists only variables that begin with PORTOLAN_SECRET_.",
      VAULT,
      OUTPUT,
      exitCodes(EXIT_CODES),
    ],
  });

  const remove = define("rm", "remove secrets", "[NAME...]", "removeSecret");
  explain(remove.usage("<NAME...> [options]"), {
    examples: ["portolan secrets rm GITHUB_TOKEN", "portolan secrets rm GITHUB_TOKEN DEPLOY_KEY"],
    sections: [VAULT, OUTPUT, exitCodes(EXIT_CODES)],
  });

  const check = define(
    "check",
    "check the stores, and the secrets that the servers need",
    "[words...]",
    "checkSecrets",
  );
  explain(check.usage("[options]"), {
    examples: [
      "portolan secrets check",
      `portolan secrets check --json | jq '.needs[] | select(.state == "missing")'`,
    ],
    sections: [
      "Shows whether each store works, and which secrets the workspace needs: for each one, where it is used and whether it is set.",
      VAULT,
      OUTPUT,
      exitCodes({
        ...EXIT_CODES,
        1: "a needed secret is not set or not granted, or a store other than the keyring does not work",
      }),
    ],
  });

  const unlock = defineCommand(secrets, {
    name: "unlock",
    summary: "type the passphrase of the vault once, for the commands that follow",
    groups: [outputOptions],
  })
    .option(
      "--for <time>",
      "how long the vault stays unlocked: 30m, 8h (default: 15m, or PORTOLAN_VAULT_TIMEOUT)",
    )
    .option("--keep", "store the passphrase in the system's keyring, so that no command asks for it")
    .action((raw: RawOptions & UnlockOptions) =>
      run(raw, async (cli) => (await import("./unlock.ts")).unlock(cli, raw)),
    );
  explain(unlock, {
    examples: [
      "portolan secrets unlock",
      "portolan secrets unlock --for 8h",
      "portolan secrets unlock --keep",
    ],
    sections: [VAULT, OUTPUT, exitCodes(EXIT_CODES)],
  });

  const lock = defineCommand(secrets, {
    name: "lock",
    summary:
      "lock the vault; the next command that needs it asks for the passphrase, unless the passphrase is stored",
    groups: [outputOptions],
  }).action((raw: RawOptions) => run(raw, async (cli) => (await import("./unlock.ts")).lock(cli)));
  explain(lock, {
    examples: ["portolan secrets lock"],
    sections: [
      "Servers that are running keep the secrets that they were started with.",
      OUTPUT,
      exitCodes(EXIT_CODES),
    ],
  });

  const passphrase = defineCommand(secrets, {
    name: "passphrase",
    summary: "change the passphrase of the vault",
    groups: [outputOptions],
  })
    .option("--new-passphrase-file <file>", "a file that contains the new passphrase; it is not asked for")
    .action((raw: RawOptions & PassphraseOptions) =>
      run(raw, async (cli) => (await import("./passphrase.ts")).changePassphrase(cli, raw)),
    );
  explain(passphrase, {
    examples: [
      "portolan secrets passphrase",
      "PORTOLAN_VAULT_PASSPHRASE_FILE=old portolan secrets passphrase --new-passphrase-file new",
    ],
    sections: [
      "The command asks for the old passphrase, and twice for the new one. It reads the old passphrase from the file that PORTOLAN_VAULT_PASSPHRASE_FILE names, or from the keyring, if there is one. Then it encrypts all secrets of the vault with a new key, in one step. If the keyring has the old passphrase, the command stores the new one there. The vault agent forgets the old key, and running gateways read the vault again.",
      "The old passphrase still opens copies of the vault from before, such as backups.",
      OUTPUT,
      exitCodes(EXIT_CODES),
    ],
  });

  // Started by the commands themselves.
  secrets
    .command("agent", { hidden: true })
    .description("keep the keys of unlocked vaults in memory until their time is over")
    .action((raw: RawOptions) => run(raw, async (cli) => (await import("./unlock.ts")).runAgent(cli)));
}
