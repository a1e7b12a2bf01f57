// Modules that a gateway loads: OpenTelemetry only if it is enabled. The list comes from the coverage of V8.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";

const PROGRAM = `
  import { openGateway } from ${JSON.stringify(new URL("../../dist/gateway.js", import.meta.url).href)};
  const gateway = await openGateway({ servers: {} }, { snapshots: false, settings: { auth: "none" } });
  const response = await gateway.fetch(new Request("http://localhost/mcp", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: {} }),
  }));
  console.log(response.status);
  await gateway.close();
`;

/** The scripts of a program that opens a gateway and sends a request to it. */
async function loadedScripts(env: Record<string, string>): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-loaded-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", PROGRAM], {
    env: { PATH, HOME, NODE_V8_COVERAGE: folder, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  const [code] = (await once(child, "close")) as [number];
  expect([code, out]).toEqual([0, "200\n"]);
  return readdirSync(folder).flatMap((file) => {
    const coverage = JSON.parse(readFileSync(join(folder, file), "utf8")) as { result: { url: string }[] };
    return coverage.result.flatMap(({ url }) =>
      url.startsWith("file:") && url.endsWith("js") ? fileURLToPath(url) : [],
    );
  });
}

/** The bundled code of the API and of the SDK defines these; our own code only mentions the symbol. */
function isOpenTelemetry(script: string): boolean {
  return (
    script.includes("@opentelemetry") ||
    /class (?:BatchSpanProcessor|TraceAPI|SpanImpl|MeterProvider)/.test(readFileSync(script, "utf8"))
  );
}

it("loads OpenTelemetry only if a variable enables it", async () => {
  const [off, on] = await Promise.all([
    loadedScripts({}),
    loadedScripts({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" }),
  ]);
  expect(off.length).toBeGreaterThan(5);
  expect(off.filter(isOpenTelemetry)).toEqual([]);
  expect(on.filter(isOpenTelemetry).length).toBeGreaterThan(0);
});
