// Era negotiation: in one process, by the rules of the specification, and cached if this saves a probe.

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { connectMcp } from "../../src/index.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { connectStdio, connectUrl, failure, serverStats, started } from "../helpers/connect.ts";

beforeEach(() => {
  process.env.XDG_CACHE_HOME = mkdtempSync(join(tmpdir(), "portolan-eras-"));
});

describe("stdio", () => {
  it.each(["method-not-found", "error32602", "silent"])(
    "a legacy server that answers the probe with %s is used in the same process",
    async (probe) => {
      const mcp = await connectStdio(["--era=legacy", `--probe=${probe}`], {
        limits: { probeTimeoutMs: 200 },
      });
      expect(mcp.server.era).toBe("legacy");
      const { requests } = await serverStats(mcp);
      expect(requests["server/discover"]).toBe(1);
      expect(requests.initialize).toBe(1);
      expect(mcp.stats()).toMatchObject({ eraProbes: 1, restarts: 0 });
      expect(mcp.stats().inFlight).toBe(0);
    },
  );

  it("a server that exits on the probe is restarted as legacy; the cache stores its version and a date", async () => {
    const flags = ["--era=legacy", "--probe=die", "--version=7.1"];
    const first = await connectStdio(flags);
    expect(first.stats().eraProbes).toBe(1);
    await first.close();
    const file = join(process.env.XDG_CACHE_HOME as string, "portolan", "eras.json");
    const verdicts = Object.values(JSON.parse(readFileSync(file, "utf8")) as object) as {
      serverVersion: string;
      date: string;
    }[];
    expect(verdicts).toMatchObject([
      {
        era: "legacy",
        serverVersion: expect.any(String) as string,
        date: expect.stringMatching(/^\d{4}-/) as string,
      },
    ]);
    expect((await connectStdio(flags)).stats().eraProbes).toBe(0);
  });

  it("a dual server is used in the modern era, unless its config names another era", async () => {
    expect((await connectStdio(["--era=dual"])).server.era).toBe("modern");
    expect((await connectStdio(["--era=dual"], { era: "legacy" })).server.era).toBe("legacy");
    expect((await connectStdio(["--era=dual"], { era: "modern" })).server.era).toBe("modern");
  });

  it("an era in the config that the server does not support is an error, not a fallback", async () => {
    expect((await failure(connectStdio(["--era=legacy"], { era: "modern" }))).code).toBe(
      "VERSION_UNSUPPORTED",
    );
    expect(["VERSION_UNSUPPORTED", "RPC_ERROR"]).toContain(
      (await failure(connectStdio(["--era=modern"], { era: "legacy" }))).code,
    );
  });

  it.each(["2025-06-18", "2025-03-26", "2024-11-05"])(
    "uses revision %s with a server that supports nothing newer",
    async (revision) => {
      const mcp = await connectStdio(["--era=legacy", `--revision=${revision}`]);
      expect(mcp.server.revision).toBe(revision);
      expect((await mcp.callTool("echo", { text: "old" })).text).toBe("old");
    },
  );

  it("F14: without a common revision, the error names the revisions of both sides", async () => {
    const legacy = await failure(connectStdio(["--era=legacy", "--fault=bad-version"]));
    expect(legacy).toMatchObject({ code: "VERSION_UNSUPPORTED", data: { theirs: ["1999-01-01"] } });
    expect(legacy.message).toContain("2025-11-25");
    const modern = await failure(connectStdio(["--era=modern", "--fault=modern-version-mismatch"]));
    expect(modern).toMatchObject({ code: "VERSION_UNSUPPORTED", data: { theirs: ["2099-01-01"] } });
  });
});

describe("HTTP", () => {
  it("F14: a modern server that refuses the version gets no initialize", async () => {
    const server = await started(startHttpServer({ era: "modern", faults: ["modern-version-mismatch"] }));
    expect((await failure(connectUrl(server.url))).code).toBe("VERSION_UNSUPPORTED");
    expect(server.stats.requests.initialize).toBeUndefined();
  });

  it.each([
    [401, "AUTH_REQUIRED"],
    [403, "FORBIDDEN"],
  ])("HTTP %i does not decide the era", async (status, code) => {
    const server = await started(startHttpServer({ era: "legacy" }));
    server.setFault(`status:${status}`);
    expect((await failure(connectUrl(server.url))).code).toBe(code);
    expect(server.requests).toHaveLength(1);
  });

  it("HTTP 500 does not decide the era", async () => {
    const server = await started(startHttpServer({ era: "legacy" }));
    server.setFault("status:500");
    expect((await failure(connectUrl(server.url))).code).toBe("HTTP_ERROR");
    expect(server.stats.requests.initialize).toBeUndefined();
  });

  it("every modern request has the protocol headers and _meta fields", async () => {
    const server = await started(startHttpServer({ era: "modern" }));
    const mcp = await connectUrl(server.url, {
      watch: false,
      clientInfo: { name: "me", version: "3" },
      handlers: { elicit: () => ({ action: "decline" }), roots: [] },
    });
    await mcp.listTools();
    await mcp.readResource("test://static-text");
    for (const { body, headers } of server.requests) {
      expect(headers["mcp-protocol-version"]).toBe("2026-07-28");
      expect(headers["mcp-method"]).toBe(body?.method);
      expect(body?.params._meta).toMatchObject({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "me", version: "3" },
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} }, roots: {} },
      });
    }
  });
});

describe("answers to initialize without a supported revision", () => {
  const answering = (answer: string): string[] => [
    "-e",
    `require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id } = JSON.parse(line);
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ${answer} }));
    });`,
  ];
  const refusal = (answer: string): Promise<unknown> =>
    connectMcp({
      ...{ transport: "stdio", command: process.execPath, args: answering(answer), era: "legacy" },
      ...{ name: "fixture", sandbox: "off", onDiagnostic: () => {} },
    }).then(
      (mcp) => mcp.close(),
      (error: unknown) => error,
    );

  it("a modern revision, no revision, and an error without a message have their own errors and hints", async () => {
    expect(await refusal('result: { protocolVersion: "2026-07-28" }')).toMatchObject({
      code: "VERSION_UNSUPPORTED",
      message: expect.stringMatching(
        /answered initialize with the MCP revision 2026-07-28; after initialize, Portolan supports 2025-11-25/,
      ) as string,
      hint: expect.stringContaining("era: auto") as string,
    });
    expect(await refusal("result: {}")).toMatchObject({
      message: expect.stringContaining("answered initialize without a protocolVersion") as string,
    });
    expect(await refusal("error: { code: -32000 }")).toMatchObject({
      message: expect.stringContaining("the error code -32000, and the server sent no message") as string,
      hint: expect.stringContaining("log of the server") as string,
    });
  });
});
