// `portolan resolve`, `diff`, `test` and `drivers accept`: definitions and help.

import type { CommandHost } from "../context.ts";
import {
  collect,
  defineCommand,
  driverCodeOption,
  type OptionGroup,
  outputOptions,
  sandboxModeOption,
  startTimeoutOption,
  workspaceOption,
} from "../options/groups.ts";
import type { RawOptions } from "../options/parse.ts";
import { DRIVERS, exitCodes } from "../output/help.ts";
import type { TestOptions } from "./examples.ts";
import type { ResolveOptions } from "./resolve.ts";

/** For commands that start the servers of drivers. */
const GROUPS: readonly OptionGroup[] = [
  outputOptions,
  workspaceOption,
  sandboxModeOption,
  driverCodeOption,
  startTimeoutOption,
];

const USAGE_CODES = {
  2: "wrong usage or input, or a config file that cannot be used",
  3: "a server cannot be reached",
};

export function addDriverCommands(host: CommandHost): void {
  addResolve(host);
  addDiff(host);
  addTest(host);
  addAccept(host);
}

function addResolve({ program, explain, run }: CommandHost): void {
  const resolve = defineCommand(program, {
    name: "resolve",
    summary: "show which driver would serve a contract, and why",
    argument: "[contract...]",
    groups: GROUPS,
  })
    .usage("<contract> [options]")
    .option("--pin <driver>", "test a call that only this driver may serve")
    .option("--region <region>", "test a call whose data must stay in this region")
    .option(
      "--policy <policy>",
      "use the policy of this portolan.yaml, or allow=tag,deny=tag, in place of the workspace's policy",
    )
    .option("--input <names>", "names of the inputs that the call has: key,key (repeatable)", collect)
    .action((words: string[], raw: RawOptions & ResolveOptions) =>
      run(raw, async (cli) => (await import("./resolve.ts")).resolveContract(cli, words, raw)),
    );
  explain(resolve, {
    examples: [
      "portolan resolve fs-read",
      "portolan resolve fs-read --pin filesystem-mcp --input path,head",
      "portolan resolve fs-read --region eu-west-1 --policy allow=pii-safe,deny=beta",
      "portolan resolve fs-read --json | jq '.phases[].rejected[]'",
    ],
    sections: [
      DRIVERS,
      "The command shows the six phases of the route: the drivers that each phase keeps, those that it rejects, and why. It starts the servers of the drivers to verify them; it calls no tool.",
      exitCodes({
        0: "a driver would serve the call",
        2: "wrong usage, or no driver accepts these inputs",
        3: "no driver would serve the call",
        5: "a driver would serve the call after a login",
      }),
    ],
  });
}

function addDiff({ program, explain, run }: CommandHost): void {
  const diff = defineCommand(program, {
    name: "diff",
    summary: "show which version a change of a driver or a contract needs",
    argument: "[files...]",
    groups: [outputOptions],
  })
    .usage("<old> <new> [options]")
    .action((words: string[], raw: RawOptions) =>
      run(raw, async (cli) => (await import("./diff.ts")).diff(cli, words)),
    );
  explain(diff, {
    examples: [
      "portolan diff old/DRIVER.md .drivers/filesystem-mcp/DRIVER.md",
      "git show HEAD:tools/fs-read/TOOL.md > /tmp/TOOL.md; portolan diff /tmp/TOOL.md tools/fs-read",
      "portolan diff old new --json | jq -r .needs",
    ],
    sections: [
      "Compares two DRIVER.md or two TOOL.md files, or the folders that contain them. Each change is shown with the version step it needs: major when it can break a caller of the old version; patch when callers are not affected, such as a new description; minor otherwise. In a version 0.x, a breaking change raises the second number, and other changes raise the third.",
      exitCodes({
        0: "the new version number is high enough for the changes",
        1: "the new version number is too low for the changes",
        2: "wrong usage, or a file that cannot be used",
      }),
    ],
  });
}

function addTest({ program, explain, run }: CommandHost): void {
  const test = defineCommand(program, {
    name: "test",
    summary: "run the examples of contracts against a driver",
    argument: "[driver...]",
    groups: GROUPS,
  })
    .usage("<driver> [options]")
    .option("--allow-mutations", "also run examples that change data or need approval")
    .option(
      "--context <pair>",
      "a value of the calls' context, as key=value, for contracts that take a context (repeatable)",
      collect,
    )
    .action((words: string[], raw: RawOptions & TestOptions) =>
      run(raw, async (cli) => (await import("./examples.ts")).test(cli, words, raw)),
    );
  explain(test, {
    examples: [
      "portolan test filesystem-mcp",
      "portolan test filesystem-mcp --allow-mutations",
      "portolan test tracker-mcp --context tenant=acme",
      `portolan test filesystem-mcp --json | jq '.examples[] | select(.state == "failed")'`,
    ],
    sections: [
      DRIVERS,
      "The command calls every example of every contract that the driver serves, with this driver only. If an example has an output, the call must return exactly this output. Without --allow-mutations, examples of contracts that change data or need approval are skipped.",
      exitCodes({ 0: "no example failed", 1: "an example failed, or there are no examples", ...USAGE_CODES }),
    ],
  });
}

function addAccept({ program, explain, run }: CommandHost): void {
  const drivers = defineCommand(program, { name: "drivers", summary: "manage the registered drivers" });
  explain(drivers, {
    examples: ["portolan drivers accept filesystem-mcp"],
    sections: ["Run portolan drivers <command> --help for the options of a command."],
  });

  const accept = defineCommand(drivers, {
    name: "accept",
    summary: "accept a driver or a contract whose version number is too low for its changes",
    argument: "[id...]",
    groups: [outputOptions, workspaceOption],
  })
    .usage("<id...> [options]")
    .action((words: string[], raw: RawOptions) =>
      run(raw, async (cli) => (await import("./accept.ts")).acceptDrivers(cli, words)),
    );
  explain(accept, {
    examples: [
      "portolan diff old/DRIVER.md .drivers/filesystem-mcp",
      "portolan drivers accept filesystem-mcp",
    ],
    sections: [
      "Portolan remembers each registered driver and contract. It refuses a driver or contract that has a breaking change but the same major version, until you raise its version. This command accepts a driver or a contract in its present state; the next breaking change is refused again.",
      exitCodes({ 0: "done", ...USAGE_CODES }),
    ],
  });
}
