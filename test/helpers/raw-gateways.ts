// Gateways for tests: opened in one line over fixture servers, closed when the test ends.

import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { Diagnostic } from "../../src/errors/index.ts";
import { type OpenedGateway, openGateway } from "../../src/gateway/index.ts";
import type { ServerConfig, GatewaySettings } from "../../src/model/index.ts";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { until } from "./connect.ts";
import type { Answer, Loose } from "./raw-clients.ts";

const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
export const TOKEN = "the-token-of-the-gateway";

export type TestServer = Partial<ServerConfig> & Pick<ServerConfig, "alias" | "endpoint">;

export interface TestGateway {
  readonly gateway: OpenedGateway;
  readonly url: string;
  readonly diagnostics: readonly Diagnostic[];
}

export async function openTestGateway(
  servers: readonly TestServer[],
  settings: GatewaySettings = {},
  key: Buffer = randomBytes(32),
  waitFor?: "all",
): Promise<TestGateway> {
  const diagnostics: Diagnostic[] = [];
  const gateway = await openGateway(
    {
      servers: servers.map((server) => ({
        enabled: true,
        origin: { file: "/somewhere/portolan.yaml", line: 1, column: 1, format: "workspace" },
        ...server,
      })),
    },
    {
      access: { token: TOKEN, key },
      settings: { port: 0, ...settings },
      snapshots: false,
      waitFor,
      onDiagnostic: (diagnostic) => diagnostics.push(diagnostic),
    },
  );
  onTestFinished(() => gateway.close());
  const { url } = await gateway.listen();
  return { gateway, url, diagnostics };
}

export interface Runs {
  readonly file: string;
  /** How often the tool ran with this id. */
  called(id: string): number;
  cancelled(id: string): number;
  all(): { called?: string; cancelled?: string; answered?: string; id?: string }[];
}

/** The file to which a fixture writes what it ran, whatever becomes of its process. */
export function runsFile(): Runs {
  const folder = mkdtempSync(join(tmpdir(), "portolan-runs-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "runs");
  const all = (): ReturnType<Runs["all"]> =>
    existsSync(file)
      ? readFileSync(file, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as object)
      : [];
  return {
    file,
    all,
    called: (id) => all().filter((one) => one.called !== undefined && one.id === id).length,
    cancelled: (id) => all().filter((one) => one.cancelled !== undefined && one.id === id).length,
  };
}

/** A stdio fixture as a server; the mark finds its processes. */
export function stdioServer(
  alias: string,
  flags: string[],
  more: Partial<ServerConfig> = {},
): TestServer & { readonly pids: () => number[] } {
  const mark = randomUUID();
  return {
    alias,
    endpoint: { transport: "stdio", ...stdioCommand(...flags), env: { MARK: mark } },
    pids: () => pidsWithEnv("MARK", mark),
    ...more,
  };
}

export interface HttpProcess {
  readonly url: string;
  readonly port: number;
  kill(): Promise<void>;
}

/** The HTTP fixture in a process of its own. */
export async function startHttpProcess(...flags: string[]): Promise<HttpProcess> {
  const program = fileURLToPath(new URL("../fixtures/http-server.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  onTestFinished(() => void child.kill("SIGKILL"));
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  await until(() => out.endsWith("\n"));
  const url = out.trim();
  return {
    url,
    port: Number(new URL(url).port),
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

export interface Person {
  readonly id: string;
  readonly secret: string;
  readonly answer: Answer;
  /** Questions about somebody else's call that reached this client. There must be none. */
  readonly strange: string[];
}

/** Answers everything with a secret of its own, and notices questions that are not about its own call. */
export function person(id: string, declines = false): Person {
  const secret = `secret of ${id} ${randomUUID()}`;
  const strange: string[] = [];
  return {
    id,
    secret,
    strange,
    answer({ method, params }) {
      if (method === "roots/list") return { roots: [{ uri: `file:///${encodeURIComponent(secret)}` }] };
      const words: string =
        method === "elicitation/create" ? params.message : params.messages[0].content.text;
      if (!words.startsWith(`${id} wants `)) strange.push(words);
      if (method === "sampling/createMessage")
        return { role: "assistant", model: "none", content: { type: "text", text: secret } };
      if (declines) return { action: "decline" };
      const [field = ""] = Object.keys(params.requestedSchema.properties as object);
      return { action: "accept", content: { [field]: secret } };
    },
  };
}

/** The secrets that a result of `ask_own` holds, one per answer; what was declined is undefined. */
export function secretsIn(result: Loose): (string | undefined)[] {
  return Object.entries<Loose>(result.answers).map(([field, answer]) => {
    if (answer.roots !== undefined) return decodeURIComponent(answer.roots[0].uri.slice("file:///".length));
    if (answer.model !== undefined) return answer.content.text;
    return answer.action === "accept" ? answer.content[field] : undefined;
  });
}

export interface GatewayProcess {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  /** Ends it without a chance to say anything. */
  kill(): Promise<void>;
}

/** `portolan serve` as its users run it, for the folder; what it keeps goes below `data`. */
export async function startGatewayProcess(folder: string, data: string): Promise<GatewayProcess> {
  const child = spawn(process.execPath, [MAIN, "serve", folder, "--port", "0"], {
    env: {
      PATH: process.env.PATH,
      HOME: data,
      XDG_DATA_HOME: data,
      XDG_CACHE_HOME: data,
      XDG_CONFIG_HOME: data,
      PORTOLAN_SANDBOX: process.env.PORTOLAN_SANDBOX,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (said += text));
  const address = (): string | undefined => /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
  await until(() => {
    if (child.exitCode !== null) throw new Error(said);
    return address() !== undefined;
  });
  const kept = join(data, "portolan", "gateway");
  const [file = ""] = readdirSync(kept).filter((name) => /^[0-9a-f]+\.json$/.test(name));
  const { token } = JSON.parse(readFileSync(join(kept, file), "utf8")) as { token: string };
  return {
    url: address() as string,
    token,
    pid: child.pid as number,
    async kill() {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

export function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-gateway-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
