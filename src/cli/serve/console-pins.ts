// Packages and pins for the console: the lock file beside the tools of the running servers, and the approval of changes.

import { shellWord } from "../../base/text/command-line.ts";
import { PortolanError, unknownServer } from "../../errors/index.ts";
import { type OpenedWorkspace, readPins } from "../../hub/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { lockFileOf, readLock } from "../../packages/index.ts";
import { toPins, writePins } from "../pins/approvals.ts";
import { criticalFindings, isDifferent, type LintedTool, withFindings } from "../pins/live.ts";
import { changeReader } from "../pins/state.ts";

export async function readPackages(workspace: OpenedWorkspace): Promise<object> {
  const lock = await readLock(lockFile(workspace));
  const pins = await readPins(workspace);
  const changesOf = await changeReader();
  const servers = await Promise.all(
    pins.map(async (one) => {
      const { key, tools, ...server } = withFindings(one, pins);
      const locked = lock.servers[key];
      const shown = tools.map(async (tool) =>
        locked?.tools !== undefined && isDifferent(tool)
          ? { ...tool, changes: await changesOf(tool) }
          : { name: tool.name, verdict: tool.verdict },
      );
      return {
        ...server,
        isPinned: locked?.tools !== undefined,
        package: locked?.package,
        tools: await Promise.all(shown),
      };
    }),
  );
  return { servers };
}

/** Approves exactly the definitions that the person has seen: each tool is named with its hash. */
export async function approvePins(workspace: OpenedWorkspace, params: JsonObject): Promise<object> {
  const { server: name, tools, removed } = params;
  const pins = await readPins(workspace);
  const found = pins.find(({ server }) => server === name);
  if (found === undefined)
    throw unknownServer(
      String(name),
      pins.map(({ server }) => server),
    );
  const live = withFindings(found, pins);
  const chosen = (Array.isArray(tools) ? tools : []).map((wanted) => requireTool(live.tools, wanted));
  const gone = (Array.isArray(removed) ? removed : []).filter((tool) => live.removed.includes(String(tool)));
  // A page cannot show hidden characters as a terminal does, so that they are approved there.
  for (const tool of chosen) refuseCritical(found.server, tool, workspace);
  const written = await writePins(lockFile(workspace), live, chosen, (before) => ({
    ...Object.fromEntries(Object.entries(before).filter(([tool]) => !gone.includes(tool))),
    ...toPins(chosen),
  }));
  await workspace.reload(written);
  return { approved: chosen.map((tool) => tool.name), removed: gone };
}

function refuseCritical(server: string, tool: LintedTool, { config }: OpenedWorkspace): void {
  const [critical] = criticalFindings(tool);
  if (critical === undefined) return;
  const { path, message } = critical;
  // The terminal may be in another folder.
  const inFolder = config.folder === undefined ? "" : ` -w ${shellWord(config.folder)}`;
  throw new PortolanError(
    "TOOL_WITHHELD",
    `The tool ${tool.name} was not approved: its ${path} ${message}.`,
    {
      server,
      tool: tool.name,
      hint: `Review it, and approve it in a terminal: portolan pins approve ${shellWord(server)} ${shellWord(tool.name)} --allow-findings${inFolder}`,
    },
  );
}

function requireTool(live: readonly LintedTool[], wanted: unknown): LintedTool {
  const { name, hash } = isObject(wanted) ? wanted : {};
  const tool = live.find((one) => one.name === name);
  if (tool === undefined || tool.hash === undefined || tool.hash !== hash)
    throw new PortolanError(
      "TOOL_WITHHELD",
      `The tool ${String(name)} was not approved: it changed or disappeared after the page was loaded.`,
      {
        hint: "Load the page again, and review the new definition.",
      },
    );
  return tool;
}

function lockFile({ config }: OpenedWorkspace): string {
  if (config.folder !== undefined) return lockFileOf(config.folder);
  throw new PortolanError(
    "NOT_SUPPORTED",
    "These servers do not belong to a workspace folder, so that their tools cannot be pinned: pins are stored in such a folder.",
    { hint: "Write the servers into a portolan.yaml, and run portolan serve in its folder." },
  );
}
