import { expect, test } from "vitest";
import type { GatewaySettings } from "../../model/index.ts";
import { parseWorkspace } from "./read.ts";

function read(text: string): { gateway: GatewaySettings | undefined; problems: string[] } {
  const { settings, diagnostics } = parseWorkspace(text, "portolan.yaml");
  return {
    gateway: settings.gateway,
    problems: diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`),
  };
}

test("reads every key of telemetry and audit", () => {
  expect(
    read(`telemetry:
  endpoint: http://localhost:4318
  protocol: http/json
  headers: {authorization: "Bearer \${OTEL_TOKEN}"}
  traces: true
  metrics: false
  sample: 0.1
  service_name: tools
  arguments: true
  results: false
  prometheus: {auth: token, callers: [prometheus]}
audit: {folder: audit, anchors: /mnt/anchors, max_size: 10MB, keep: 5}
gateway: {port: 1, callers: [{name: prometheus, token: "\${T}"}]}
`),
  ).toEqual({
    problems: [],
    gateway: {
      port: 1,
      callers: [{ name: "prometheus", token: "${T}" }],
      telemetry: {
        endpoint: "http://localhost:4318",
        protocol: "http/json",
        headers: { authorization: "Bearer ${OTEL_TOKEN}" },
        traces: true,
        metrics: false,
        sample: 0.1,
        serviceName: "tools",
        arguments: true,
        results: false,
        prometheus: { auth: "token", callers: ["prometheus"] },
      },
      audit: { folder: "audit", anchors: "/mnt/anchors", maxBytes: 10_000_000, keep: 5 },
    },
  });
});

test("true enables a feature with its defaults, and false disables it", () => {
  expect(read("audit: true\ntelemetry: {prometheus: true}").gateway).toEqual({
    audit: {},
    telemetry: { prometheus: {} },
  });
  expect(read("audit: false").gateway).toBeUndefined();
  expect(read("telemetry: {prometheus: false}").gateway).toEqual({ telemetry: {} });
});

test.each([
  ["telemetry: {endpoint: localhost}", "1:23 telemetry.endpoint is not the URL of a receiver"],
  ["telemetry: {sample: 2}", '1:21 telemetry.sample must be a number from 0 to 1, not "2"'],
  ["telemetry: {endpiont: x}", '1:13 unknown key "endpiont" in telemetry'],
  [
    "gateway: {callers: [{name: prom, token: '${T}'}]}\ntelemetry: {prometheus: {callers: [prom, porm]}}",
    '2:42 no caller has the name "porm"',
  ],
  ["audit: {keep: 0}", '1:15 audit.keep must be a whole number of at least 1, not "0"'],
  ["audit: yes please", "1:8 audit must be true or false or an object with keys, not text"],
])("reports %j with its position", (text, expected) => {
  const { problems, gateway } = read(text);
  expect(problems).toEqual([expected]);
  expect(gateway?.audit).toBeUndefined();
});
