import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filePackage, writePackageWorkspace } from "../../../test/helpers/packages.ts";
import type { Loose } from "../../../test/helpers/registry.ts";
import { type PackageReference, parsePackageReference } from "../../model/index.ts";
import type { Lock } from "../lock/schema.ts";
import { compareWithLock } from "./check-lock.ts";
import { openLockedPackage } from "./locked-program.ts";

test("default settings become environment variables in the form that portolan add writes", async () => {
  const document = filePackage("https://example.com/server.js", "// A server.", (value: Loose) => {
    value["mcp"].configuration = {
      schema: {
        type: "object",
        properties: {
          hosts: { type: "array", default: ["a.example", "b.example"] },
          names: { type: "array", default: ["Doe, Jane"] },
          depth: { type: "integer", default: 3 },
          verbose: { type: "boolean", default: false },
          title: { type: "string", default: "a,b" },
          open: { type: "string" },
        },
      },
    };
  });
  const { root, lock } = await writePackageWorkspace(document);
  const reference = parsePackageReference(String(document["name"])) as PackageReference;
  const { env } = await openLockedPackage(
    { server: "tiny", reference, lock: { file: lock, server: "tiny" } },
    { root },
    { install: false },
  );
  expect(env).toEqual({
    ...{ HOSTS: "a.example,b.example", NAMES: '["Doe, Jane"]', DEPTH: "3", VERBOSE: "false", TITLE: "a,b" },
  });
});

test("an invalid hash in portolan.lock has a hint that works without version control", async () => {
  const document = filePackage("https://example.com/server.js", "// A server.");
  const { root, lock } = await writePackageWorkspace(document);
  writeFileSync(lock, readFileSync(lock, "utf8").replace(/"integrity": "[^"]+"/, '"integrity": "none"'));
  const reference = parsePackageReference(String(document["name"])) as PackageReference;
  const hint =
    /Or add the package again: .+ in the folder of portolan.yaml: portolan remove tiny; portolan add .+ --name tiny$/;
  await expect(
    openLockedPackage(
      { server: "tiny", reference, lock: { file: lock, server: "tiny" } },
      { root },
      {
        install: false,
      },
    ),
  ).rejects.toMatchObject({ hint: expect.stringMatching(hint) as string });
  const { servers } = JSON.parse(readFileSync(lock, "utf8")) as Lock;
  expect(
    compareWithLock(new Map([["tiny", reference]]), { lockfileVersion: 1, servers }, { isAll: true }),
  ).toMatchObject([{ server: "tiny", hint: expect.stringMatching(hint) as string }]);
});
