// Workspaces on real folders for tests: declared in one line, closed when the test ends.

import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Diagnostic } from "../../src/errors/index.ts";
import { type HubEvent, openWorkspace, type Workspace, type WorkspaceOptions } from "../../src/hub/index.ts";
import { stdioCommand } from "../fixtures/processes.mjs";
import { started } from "./connect.ts";

export const temporary = (): string => mkdtempSync(join(tmpdir(), "portolan-workspace-"));

export type Entry = Record<string, unknown> & { alias: string };

/** A stdio fixture as a manifest declares it. The alias in its environment keeps it a process of its own. */
export function stdio(alias: string, flags: string[] = ["--era=modern"], more: object = {}): Entry {
  return { alias, transport: "stdio", ...stdioCommand(...flags), env: { ALIAS: alias }, ...more };
}

/** A folder with a manifest of these servers. JSON is YAML. */
export function declare(
  servers: readonly Entry[],
  config: object = {},
  folder: string = temporary(),
): string {
  writeFileSync(join(folder, "manifest.yaml"), JSON.stringify({ config: { servers, ...config } }, null, 2));
  return folder;
}

export interface Opened {
  readonly workspace: Workspace;
  readonly events: HubEvent[];
  readonly diagnostics: Diagnostic[];
  names(): Promise<string[]>;
  state(alias: string): string | undefined;
  pid(alias: string): Promise<number>;
}

/** Keeps no snapshots and does not watch unless told. */
export async function open(folder: string, options: WorkspaceOptions = {}): Promise<Opened> {
  const diagnostics: Diagnostic[] = [];
  const workspace = await openWorkspace(folder, {
    snapshots: false,
    watchFiles: false,
    ...options,
    onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
  });
  onTestFinished(() => workspace.close());
  const events: HubEvent[] = [];
  workspace.events.on((event) => events.push(event));
  return {
    workspace,
    events,
    diagnostics,
    names: async () => (await workspace.tools()).map((tool) => tool.name),
    state: (alias) => workspace.health().find((health) => health.alias === alias)?.state,
    pid: async (alias) =>
      (JSON.parse((await workspace.callTool(`${alias}.stats`)).text) as { pid: number }).pid,
  };
}

/** Stands before a server and lets only requests with this token through. */
export async function guard(
  target: { url: string },
  token: string,
): Promise<{ url: string; refused: (string | undefined)[] }> {
  const refused: (string | undefined)[] = [];
  const { host, pathname } = new URL(target.url);
  const server = createServer((req, res) => {
    if (req.headers.authorization !== `Bearer ${token}`) {
      refused.push(req.headers.authorization);
      res.writeHead(401).end(`not welcome: ${req.headers.authorization}`);
      return;
    }
    const { method, headers } = req;
    const onward = request(`http://${host}${req.url}`, { method, headers }, (answer) => {
      res.writeHead(answer.statusCode ?? 500, answer.headers);
      res.flushHeaders();
      answer.pipe(res);
    });
    onward.on("error", () => res.destroy());
    res.on("close", () => onward.destroy());
    req.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  await started(
    Promise.resolve({
      close: () =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
          server.closeAllConnections();
        }),
    }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`, refused };
}

export function isRunning(pid: number): boolean {
  try {
    // A zombie is gone, but still has a number.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** Every file below the folder, as text. */
export function filesBelow(folder: string): { file: string; text: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => ({ file, text: readFileSync(file, "utf8") }));
}

/** A legacy server that promises everything and answers with these results; null is no answer, and all else an error. */
export function scripted(alias: string, results: object): Entry {
  const capabilities = { tools: {}, prompts: {}, resources: {} };
  const initialize = {
    protocolVersion: "2025-11-25",
    capabilities,
    serverInfo: { name: alias, version: "1" },
  };
  const script = `const results = ${JSON.stringify({ initialize, ...results })};
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      if (id === undefined || results[method] === null) return;
      const error = { code: -32601, message: "no " + method };
      console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(results[method] ? { result: results[method] } : { error }) }));
    }).on("close", () => process.exit())`;
  return { alias, transport: "stdio", command: process.execPath, args: ["-e", script] };
}
