import { describe, expect, test } from "vitest";
import { readMcpfile } from "./declared.ts";

const FILE = "/somewhere/x/mcpfile.yaml";
const BESIDE = "/somewhere/x/mcpserver.yaml";
const NEW = `kind: MCPToolDefinitions\nschemaVersion: "0.2.0"\nname: a\nversion: "1.0.0"\n`;
const settings = (runtime: string): string =>
  `kind: MCPServerConfig\nschemaVersion: "0.2.0"\nruntime: {transportProtocol: streamablehttp, ${runtime}}\n`;
const declare = (beside: string, text = NEW): ReturnType<typeof readMcpfile> =>
  readMcpfile(text, FILE, { file: BESIDE, text: beside });
const trusted = ({ servers }: ReturnType<typeof readMcpfile>): unknown =>
  servers.map(({ endpoint }) => (endpoint.transport === "invoke" ? endpoint.server.clientTls : undefined));

describe("the config file beside an mcpfile", () => {
  test("sets the certificate authorities for requests, and the port and TLS of the gateway", () => {
    const declared = declare(
      settings(
        "clientTlsConfig: {caCertFiles: [ca.pem]}, streamableHttpConfig: {port: 9000, basePath: /mcp, tls: {certFile: c.pem, keyFile: k.pem}}",
      ),
    );
    expect(declared.diagnostics).toEqual([]);
    expect(trusted(declared)).toEqual([{ caCertFiles: ["/somewhere/x/ca.pem"], insecureSkipVerify: false }]);
    expect(declared.gateway).toEqual({ port: 9000, tls: { cert: "c.pem", key: "k.pem" } });
  });

  test("a note names the settings that Portolan does not use, and what to use instead", () => {
    const { diagnostics } = declare(
      settings(
        "loggingConfig: {level: info}, streamableHttpConfig: {basePath: /x, stateless: true, auth: {jwksUri: https://a.example}, health: {livenessPath: /up}}",
      ),
    );
    expect(diagnostics).toMatchObject([
      {
        severity: "info",
        file: BESIDE,
        message: "portolan serve ignores basePath, stateless, auth, health, loggingConfig of the runtime",
        hint: "basePath: the path is always /mcp. stateless: the gateway always serves clients with and without sessions. auth: set gateway.oauth in a portolan.yaml in this folder, and serve the folder. health: the paths are always /healthz and /readyz. loggingConfig: use --log-format and --log-file.",
      },
    ]);
  });

  test("has errors that are reported as errors of the mcpfile", () => {
    expect(declare(settings("clientTlsConfig: {caCertFile: [x]}")).diagnostics).toMatchObject([
      { severity: "error", file: BESIDE, line: 3 },
    ]);
    const unread = readMcpfile(NEW, FILE, { file: BESIDE, problem: "it is a folder" });
    expect(unread.diagnostics).toMatchObject([{ severity: "error", code: "FILE_FAILED" }]);
  });

  test("is ignored if it has another format or if the mcpfile is of an older version", () => {
    expect(declare("services: {}\n")).toMatchObject({ diagnostics: [], gateway: undefined });
    const old = declare(
      settings("streamableHttpConfig: {port: 9000}"),
      'mcpFileVersion: "0.1.0"\nname: a\nversion: "1.0.0"\n',
    );
    expect(old).toMatchObject({ diagnostics: [], gateway: undefined });
  });
});

describe("the runtime section of an mcpfile", () => {
  const server = (name: string, port: number): string =>
    `{name: ${name}, version: 1.0.0, runtime: {transportProtocol: streamablehttp, streamableHttpConfig: {port: ${port}}}}`;

  test("sets the port of the gateway if the file has one server", () => {
    expect(readMcpfile(`mcpFileVersion: 0.0.1\nservers: [${server("a", 1)}]`, FILE)).toMatchObject({
      gateway: { port: 1 },
      diagnostics: [],
    });
  });

  test("is not used if the file has several servers", () => {
    const text = `mcpFileVersion: 0.0.1\nservers: [${server("a", 1)}, ${server("b", 2)}]`;
    const { gateway, diagnostics } = readMcpfile(text, FILE);
    expect(gateway).toBeUndefined();
    expect(diagnostics.map(({ severity, server: name }) => [severity, name])).toEqual([
      ["info", "a"],
      ["info", "b"],
    ]);
  });
});
