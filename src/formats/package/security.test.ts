// Sandbox rules from the permissions of a package.

import { expect, test } from "vitest";
import { parseNetworkRule } from "../../model/index.ts";
import { type PackageSecurity, sandboxFromPermissions } from "./security.ts";

function sandbox(security: PackageSecurity) {
  const result = sandboxFromPermissions(security);
  if (!result.ok) throw new Error(result.problem);
  return result;
}

test("the example of the format can connect only to its own service, and its sandbox is enforced", () => {
  const { sandbox: found, notes } = sandbox({
    permissions: ["network", "github-api"],
    sandbox: { required: true, type: "process" },
  });
  expect(found).toEqual({ mode: "enforce", network: ["api.github.com"], exec: { spawn: false } });
  expect(notes).toEqual([]);
});

test("without permissions, a package has no network access and starts no other programs", () => {
  for (const security of [{}, { permissions: [] }])
    expect(sandbox(security)).toEqual({
      ok: true,
      sandbox: { network: [], exec: { spawn: false } },
      notes: [],
    });
});

test("network allows every public host, and process allows other programs", () => {
  expect(sandbox({ permissions: ["network", "process"] }).sandbox).toEqual({
    network: ["*"],
    exec: { spawn: true },
  });
});

test("filesystem and unknown permissions grant nothing, with a note", () => {
  const { sandbox: found, notes } = sandbox({ permissions: ["filesystem", "moon-api"] });
  expect(found).toEqual({ network: [], exec: { spawn: false } });
  expect(notes.map(({ message }) => message)).toEqual([
    'Portolan does not know the permission "moon-api", so the permission grants nothing',
    "the permission filesystem names no folder, so it grants access to no folder",
  ]);
});

test("names of Object.prototype are unknown permissions", () => {
  expect(sandbox({ permissions: ["constructor", "__proto__"] }).sandbox.network).toEqual([]);
});

test.each(["wasm", "docker", "vm"])(
  "refuses a required sandbox of type %s, and adds a note if it is optional",
  (type) => {
    const problem = expect.stringContaining(type) as string;
    const required = { permissions: ["network"], sandbox: { required: true, type } };
    expect(sandboxFromPermissions(required)).toMatchObject({ ok: false, problem });
    const { notes } = sandbox({ sandbox: { type } });
    expect(notes).toMatchObject([{ message: problem }]);
  },
);

test("each host of a permission is a valid network rule", () => {
  for (const name of ["github-api", "slack-api", "google-api", "notion-api", "gitlab-api"])
    for (const host of sandbox({ permissions: [name] }).sandbox.network ?? [])
      expect(parseNetworkRule(host)).toMatchObject({ ok: true });
});
