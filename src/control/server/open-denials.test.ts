import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { HubEvent } from "../../hub/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import type { Mount } from "../../sandbox/index.ts";
import { openDenials } from "./open-denials.ts";

type Grants = { readonly mounts?: readonly Mount[]; readonly network?: readonly string[] };

function planOf({ mounts = [], network = [] }: Grants, backend = "bubblewrap"): LaunchPlan {
  const policy = { mounts, network, home: "/home/of-sandbox", cwd: undefined };
  return { server: "files", sandbox: { backend, policy } } as unknown as LaunchPlan;
}

const common = { time: "2026-03-01T10:00:00.000Z", server: "files", reason: "it is not granted" };
const host = (name: string, port?: number, rule?: string): HubEvent => ({
  ...{ ...common, type: "mcp.sandbox_denied", host: name, port, rule },
});
const pathDenied = (path: string, access: "read" | "write"): HubEvent => ({
  ...{ ...common, type: "mcp.sandbox_path_denied", path, access },
});

test("the denial of a host stays open until a rule allows the host and port", () => {
  const events = [host("api.test", 443)];
  expect(openDenials([planOf({ network: ["api.test:8443"] })], events)).toEqual(events);
  for (const rule of ["api.test", "api.test:443", "*.test", "*"])
    expect(openDenials([planOf({ network: [rule] })], events)).toEqual([]);
});

test("the denial of a name lookup stays open until a rule allows any port of the host", () => {
  const events = [host("db.test")];
  expect(openDenials([planOf({})], events)).toEqual(events);
  expect(openDenials([planOf({ network: ["db.test:5432"] })], events)).toEqual([]);
});

test("the denial of a name with a private address stays open until a rule allows the address", () => {
  const events = [host("inner.test", 80, "10.0.0.5:80")];
  expect(openDenials([planOf({ network: ["inner.test"] })], events)).toEqual(events);
  expect(openDenials([planOf({ network: ["inner.test", "10.0.0.5:80"] })], events)).toEqual([]);
});

test("a read denial stays open until the path can be read, and a write denial until it can be written", () => {
  const folder = mkdtempSync(join(tmpdir(), "portolan-denials-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const notes = join(folder, "notes");
  mkdirSync(notes);
  const file = join(notes, "todo.md");
  writeFileSync(file, "");
  const granted = (access: Mount["access"]): LaunchPlan =>
    planOf({ mounts: [{ path: notes, access, reason: "declared" }] });
  const [hidden, protectedOne] = [pathDenied(file, "read"), pathDenied(file, "write")];
  expect(openDenials([planOf({})], [hidden])).toEqual([hidden]);
  expect(openDenials([granted("read")], [hidden])).toEqual([]);
  expect(openDenials([granted("read")], [protectedOne])).toEqual([protectedOne]);
  expect(openDenials([granted("write")], [protectedOne])).toEqual([]);
});

test("returns each target once, newest first, and no denials without a sandbox or a server", () => {
  const [first, second, again] = [host("a.test", 443), host("b.test", 443), host("a.test", 80)];
  expect(openDenials([planOf({})], [first, second, again])).toEqual([again, second]);
  expect(openDenials([planOf({}, "none")], [first])).toEqual([]);
  const unreachable = { ...first, kind: "unreachable" } as HubEvent;
  expect(openDenials([planOf({})], [unreachable])).toEqual([]);
  expect(openDenials([], [first])).toEqual([]);
});
