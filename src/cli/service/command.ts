// `portolan service`: definitions and help.

import type { CommandHost } from "../context.ts";
import { defineCommand, gatewayOptions, outputOptions, workspaceOption } from "../options/groups.ts";
import { exitCodes } from "../output/help.ts";
import type { RawServiceOptions } from "./service.ts";

const SERVICE = `Service:
  The service is a systemd user unit on Linux, and a launchd agent on macOS. It runs portolan serve for the workspace with your PATH. It starts with your session, and restarts after a crash. Address, callers and limits come from gateway: in portolan.yaml. Options of portolan serve that you give to portolan service install override these settings at every start; --allow-host and --allow-origin add to them. The service gets no environment variables of this terminal except PATH and the XDG folders (XDG_CONFIG_HOME and others), so store secrets with portolan secrets set. If secrets are in the vault, the service reads the passphrase at every start from the file of --passphrase-file. Without this option, it uses the file that PORTOLAN_VAULT_PASSPHRASE_FILE names while you run portolan service install. With a keyring, no file is needed: portolan secrets unlock --keep stores the passphrase in the keyring.`;

const CODES = exitCodes({
  0: "done",
  2: "wrong usage, or a config file that cannot be used",
  3: "install: the service cannot be started, or its gateway is not ready within 30 seconds; status: there is no service, or its gateway does not run",
});

/** The workspace as a word means the same as -w. */
function at(word: string | undefined, raw: RawServiceOptions): RawServiceOptions {
  return word === undefined ? raw : { ...raw, workspace: raw.workspace ?? word };
}

export function addServiceCommands({ program, explain, run }: CommandHost): void {
  const service = program.command("service").description("run the gateway as a service of your session");
  const install = defineCommand(service, {
    name: "install",
    summary: "install and start the service of the workspace",
    argument: "[workspace]",
    groups: [outputOptions, workspaceOption],
  }).option(
    "--print",
    "only print the definition of the service (systemd unit or launchd property list); install nothing",
  );
  gatewayOptions(install)
    .option("--log-format <format>", "text or json (default: text)")
    .option("--passphrase-file <file>", "a file with the passphrase of the vault, read at every start")
    .action((word: string | undefined, raw: RawServiceOptions) =>
      run(at(word, raw), async (cli) => (await import("./service.ts")).install(cli, raw)),
    );
  explain(install, {
    examples: [
      "portolan service install",
      "portolan service install ~/project --port 7421",
      "portolan service install --passphrase-file ~/.config/portolan-passphrase",
      "portolan service install -w ~/project --print",
    ],
    sections: [SERVICE, CODES],
  });
  const uninstall = defineCommand(service, {
    name: "uninstall",
    summary: "stop and remove the service of the workspace",
    argument: "[workspace]",
    groups: [outputOptions, workspaceOption],
  }).action((word: string | undefined, raw: RawServiceOptions) =>
    run(at(word, raw), async (cli) => (await import("./service.ts")).uninstall(cli)),
  );
  explain(uninstall, { examples: ["portolan service uninstall"], sections: [CODES] });
  const status = defineCommand(service, {
    name: "status",
    summary: "show whether the service runs",
    argument: "[workspace]",
    groups: [outputOptions, workspaceOption],
  }).action((word: string | undefined, raw: RawServiceOptions) =>
    run(at(word, raw), async (cli) => (await import("./service.ts")).status(cli)),
  );
  explain(status, { examples: ["portolan service status"], sections: [CODES] });
  explain(service, {
    examples: ["portolan service install", "portolan service status"],
    sections: [SERVICE],
  });
}
