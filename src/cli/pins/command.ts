// `portolan pin` and `portolan pins`: definitions and help.

import type { Command } from "commander";
import type { CommandHost } from "../context.ts";
import { defineCommand, standaloneOption, workspaceServerOptions } from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { exitCodes, WORKSPACE } from "../output/help.ts";
import type { ApproveOptions } from "./approve.ts";
import type { ApprovalOptions } from "./approvals.ts";

const PINS = `Pins:
  A pin is the hash of a tool definition that you approved. portolan.lock holds the pins; commit it. If a server has pins, Portolan withholds (does not offer) its tools that have no pin, or that differ from their pin. The setting pins in portolan.yaml changes this, for all servers or for one server: warn only reports such tools, off compares nothing, and enforce also withholds the tools of a server without pins.`;

const LINTS = `Lints:
  Portolan reports texts in a definition that try to influence a model, and invisible characters. Each report is a finding. A finding of severity error is critical: Portolan pins the tool only with --allow-findings, or if you confirm it at the terminal.`;

const CODES = { 0: "done", 2: "wrong usage, or a file that cannot be used" };
const EXIT_CODES = { ...CODES, 3: "a server did not start" };

const GROUPS = [...workspaceServerOptions, standaloneOption];

const GATEWAY =
  "If a gateway of the workspace runs, the command uses the tools that its servers have now, and starts no servers. With --standalone, it starts separate servers.";

export function addPinCommands({ program, explain, run }: CommandHost): void {
  const pin = defineCommand(program, {
    name: "pin",
    summary: "approve the tools of servers as they are now, and pin them in portolan.lock",
    argument: "[servers...]",
    groups: GROUPS,
  })
    .option("--allow-findings", "also pin tools with critical lint findings")
    .option("--yes", "do not ask")
    .action((servers: string[], raw: RawOptions & ApprovalOptions) =>
      run(raw, async (cli) => (await import("./pin.ts")).pin(cli, servers, raw)),
    );
  explain(pin, {
    examples: ["portolan pin", "portolan pin github files", "portolan pin github --json"],
    sections: [
      PINS,
      GATEWAY,
      "Without names, the command asks for each server that has no pins yet. Without a terminal, or with --json, it asks nothing and pins the servers that you name.",
      LINTS,
      WORKSPACE,
      exitCodes({
        ...EXIT_CODES,
        1: "a tool was not pinned: it has a critical finding, its definition is malformed, or the server lists its name twice",
      }),
    ],
  });

  const pins = defineCommand(program, {
    name: "pins",
    summary: "compare the tools of servers with their pins, and approve changes",
    argument: "[servers...]",
    groups: GROUPS,
  })
    .option("--check", "exit with 1 if the tools of a server differ from its pins, for CI")
    .action((servers: string[], raw: RawOptions & { check?: boolean }) =>
      run(raw, async (cli) => (await import("./state.ts")).showPins(cli, servers, raw)),
    );
  explain(pins, {
    examples: [
      "portolan pins",
      "portolan pins --check",
      "portolan pins diff github",
      "portolan pins approve github create_issue",
    ],
    sections: [
      PINS,
      GATEWAY,
      "A server that did not start is in the output. If it has no pins to compare, it does not change the exit code of --check.",
      WORKSPACE,
      exitCodes({
        ...EXIT_CODES,
        1: "with --check: a tool changed, is new or was removed; a server with pins: enforce has no pins; or portolan.lock cannot be read",
        3: "with --check: a server that has pins, that has pins: enforce, or that you named did not start",
      }),
    ],
  });

  const diff = defineCommand(pins, {
    name: "diff",
    summary: "show what changed in the definitions of tools since they were approved",
    argument: "[servers...]",
    groups: GROUPS,
  }).action((servers: string[], _own: RawOptions, command: Command) =>
    // Options that `pins` has too are read by it.
    run(command.optsWithGlobals(), async (cli) => (await import("./state.ts")).showDiff(cli, servers)),
  );
  explain(diff, {
    examples: ["portolan pins diff", "portolan pins diff github"],
    sections: [
      GATEWAY,
      "Invisible characters are shown as codes such as <U+200B>. The approved definitions are stored on the machine that pinned them, and on each machine that has seen them; on other machines, only the present definition is shown.",
      WORKSPACE,
      exitCodes({ ...CODES, 0: "done; stderr names servers that did not start" }),
    ],
  });

  const approve = defineCommand(pins, {
    name: "approve",
    summary: "approve changed, new and removed tools of a pinned server",
    argument: "[words...]",
    groups: GROUPS,
  })
    .usage("<server> [tools...] [options]")
    .option("--expect <hash>", "approve the tool only if its definition has this hash")
    .option("--allow-findings", "also approve tools with critical lint findings")
    .option("--yes", "do not ask")
    .action((words: string[], own: RawOptions & ApproveOptions, command: Command) =>
      run(command.optsWithGlobals(), async (cli) => (await import("./approve.ts")).approve(cli, words, own)),
    );
  explain(approve, {
    examples: [
      "portolan pins approve github",
      "portolan pins approve github create_issue",
      "portolan pins approve github create_issue --expect p1-9a…",
    ],
    sections: [
      GATEWAY,
      "The command shows the differences and asks. Without a terminal, or with --json, it approves without a question: the named tools, or all changes of the server.",
      LINTS,
      WORKSPACE,
      exitCodes({ ...EXIT_CODES, 1: "a change was not approved" }),
    ],
  });
}
