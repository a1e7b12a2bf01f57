// Sandbox rules from the permissions of a package.

import { expect, test } from "vitest";
import { parseNetworkRule } from "../../model/index.ts";
import { type PackageSecurity, sandboxFromPermissions } from "./security.ts";

function sandbox(security: PackageSecurity) {
  const result = sandboxFromPermissions(security);
  if (!result.ok) throw new Error(result.problem);
  return result;
}

test("the format's own example reaches its service and nothing else, and is enforced", () => {
  const { sandbox: found, notes } = sandbox({
    permissions: ["network", "github-api"],
    sandbox: { required: true, type: "process" },
  });
  expect(found).toEqual({ mode: "enforce", network: ["api.github.com"], exec: { spawn: false } });
  expect(notes).toEqual([]);
});

test("no permissions open nothing", () => {
  for (const security of [{}, { permissions: [] }])
    expect(sandbox(security)).toEqual({
      ok: true,
      sandbox: { network: [], exec: { spawn: false } },
      notes: [],
    });
});

test("network alone is every public host, process lets it start others", () => {
  expect(sandbox({ permissions: ["network", "process"] }).sandbox).toEqual({
    network: ["*"],
    exec: { spawn: true },
  });
});

test("filesystem and unknown permissions open nothing, and say so", () => {
  const { sandbox: found, notes } = sandbox({ permissions: ["filesystem", "moon-api"] });
  expect(found).toEqual({ network: [], exec: { spawn: false } });
  expect(notes.map(({ message }) => message)).toEqual([
    'Portolan does not know the permission "moon-api", so the permission grants nothing',
    "the permission filesystem names no folder, so it grants access to no folder",
  ]);
});

test("names of an object's own are no services", () => {
  expect(sandbox({ permissions: ["constructor", "__proto__"] }).sandbox.network).toEqual([]);
});

test.each(["wasm", "docker", "vm"])("a sandbox of type %s cannot be enforced", (type) => {
  const problem = expect.stringContaining(type) as string;
  const required = { permissions: ["network"], sandbox: { required: true, type } };
  expect(sandboxFromPermissions(required)).toMatchObject({ ok: false, problem });
  const { notes } = sandbox({ sandbox: { type } });
  expect(notes).toMatchObject([{ message: problem }]);
});

test("every host that a permission opens is one", () => {
  for (const name of ["github-api", "slack-api", "google-api", "notion-api", "gitlab-api"])
    for (const host of sandbox({ permissions: [name] }).sandbox.network ?? [])
      expect(parseNetworkRule(host)).toMatchObject({ ok: true });
});
