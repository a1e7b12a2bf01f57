// F19 with the built command: servers that ignore signals and have a child in another session leave no process.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { portolan, quoted, start, temporaryFolder } from "../helpers/cli.ts";
import { pidsWithEnv, stdioCommand } from "../fixtures/processes.mjs";
import { connectUrl, failure, until } from "../helpers/connect.ts";

const FLAGS = ["--era=modern", "--fault=stubborn:detached"];

function marked() {
  const tag = temporaryFolder();
  const { command, args } = stdioCommand(...FLAGS);
  return {
    tag,
    words: [quoted([command, ...args]), "--sandbox", "off", "--env", `FIXTURE_TAG=${tag}`],
    pids: () => pidsWithEnv("FIXTURE_TAG", tag),
  };
}

describe.skipIf(process.platform !== "linux")(
  "a server that ignores signals, without a sandbox, leaves no process",
  () => {
    it("after call", async () => {
      const { words, pids } = marked();
      const ran = await portolan(["call", ...words, "echo", "text=x"]);
      expect(ran).toMatchObject({ code: 0 });
      expect(pids()).toEqual([]);
    });

    it("after a call that the user interrupts twice", async () => {
      const { words, pids } = marked();
      const running = start(["call", ...words, "slow", "ms=60000"]);
      await until(() => pids().length === 2);
      running.child.kill("SIGINT");
      await until(() => running.err().includes("Press Ctrl-C again to quit immediately."));
      running.child.kill("SIGINT");
      expect((await running.done).code).toBe(130);
      await until(() => pids().length === 0);
    });

    it("after each restart by a gateway, and after the gateway", async () => {
      const { tag, pids } = marked();
      const cwd = temporaryFolder();
      const { command, args } = stdioCommand(...FLAGS);
      const server = { command, args: [...args], env: { FIXTURE_TAG: tag }, sandbox: "off" };
      writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ version: 1, servers: { one: server } }));
      const env = { HOME: cwd, XDG_CACHE_HOME: join(cwd, "cache"), XDG_DATA_HOME: join(cwd, "data") };
      const serving = start(["serve", "--port", "0", "--no-auth"], { cwd, env });
      let url: string | undefined;
      await until(() => (url = /http:\S+\/mcp/.exec(serving.err())?.[0]) !== undefined);
      const mcp = await connectUrl(url ?? "");
      for (let restart = 0; restart < 2; restart += 1) {
        await until(() => pids().length === 2);
        await failure(mcp.callTool("mcp_one_crash"));
        await until(async () => {
          const found = await mcp.callTool("mcp_one_echo", { text: "x" }).catch(() => undefined);
          return found?.text === "x";
        });
      }
      await until(() => pids().length === 2);
      serving.child.kill("SIGTERM");
      expect((await serving.done).code).toBe(0);
      expect(pids()).toEqual([]);
    });
  },
);
