import { expect, test } from "vitest";
import { filePackage, writePackageWorkspace } from "../../../test/helpers/packages.ts";
import type { Loose } from "../../../test/helpers/registry.ts";
import { type PackageReference, parsePackageReference } from "../../model/index.ts";
import { openLockedPackage } from "./locked-program.ts";

test("defaults of settings are texts in the form that portolan add writes", async () => {
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
