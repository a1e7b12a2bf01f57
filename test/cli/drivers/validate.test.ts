// `portolan validate` for drivers and contracts: every error that the files alone show, each with its place.

import { expect, test } from "vitest";
import { secretsFile, smallPlace } from "../../helpers/small-drivers.ts";

interface Told {
  readonly severity: string;
  readonly file: string;
  readonly line: number;
  readonly message: string;
  readonly hint: string;
}

const resource = (kind: string): string =>
  `resources: [{ uri_template: "note://{id}", integrate_as: ref_kind, ref_kind_id: ${kind} }]`;

test("references to unknown drivers, contracts and secrets are errors with their place", async () => {
  const here = smallPlace();
  here.driver("a-mcp", resource("notes"), { env: { KEY: "${secrets.OTHER_KEY}" } });
  here.driver("b-mcp", resource("notes"));
  here.driver("c-mcp", resource("github"));
  here.write(".drivers/a-mcp/SECRETS.md", secretsFile("t1"));
  here.write(
    ".drivers/other/DRIVER.md",
    "---\nname: X\nid: other\ndescription: X.\nversion: 1.0.0\nkind: cli\nimplements: [{ tool: t1, version: '*' }]\n---\n",
  );
  here.contract(
    "t1",
    "default_implementation: nobody-mcp\nrequires: { secrets: [api-key, lost-key], tools: [t9] }",
  );
  here.contract("t2", "default_implementation: a-mcp\nrequires: { secrets: [api-key] }");
  here.contract("t3", "default_implementation: other\nexamples: [{ name: wrong, input: { nothing: 1 } }]");
  here.contract("t4");
  here.change("tools/t4/TOOL.md", (text) =>
    text.replace("outputs: { type: object }", "outputs: { $ref: '#' }"),
  );
  const ran = await here.run("validate", "--json");
  expect(ran.code).toBe(1);
  const { diagnostics } = JSON.parse(ran.out) as { diagnostics: Told[] };
  const told = diagnostics
    .filter(({ severity }) => severity === "error")
    .map(({ file, line, message }) => `${file.slice(here.cwd.length + 1)}:${line} ${message}`);
  expect(told.toSorted()).toEqual([
    ".drivers/a-mcp/DRIVER.md:7 a-mcp: no SECRETS.md has a valid entry for OTHER_KEY (slug: other-key)",
    ".drivers/b-mcp/DRIVER.md:13 b-mcp: the ref_kind_id notes belongs to the driver a-mcp",
    ".drivers/c-mcp/DRIVER.md:13 the ref_kind_id github is reserved: every host has this kind of reference",
    "tools/t1/TOOL.md:8 t1: the driver nobody-mcp does not exist or has errors",
    "tools/t1/TOOL.md:9 t1 requires the contract t9, which does not exist or has errors",
    "tools/t1/TOOL.md:9 t1 requires the secret lost-key, but no SECRETS.md has a valid entry for it",
    "tools/t2/TOOL.md:8 t2: the driver a-mcp does not serve this contract",
    "tools/t2/TOOL.md:9 t2 requires the secret api-key, which is not granted to this contract",
    expect.stringMatching(/^tools\/t3\/TOOL\.md:9 the input of the example "wrong" does not match inputs/),
    expect.stringContaining('tools/t4/TOOL.md:7 outputs.$ref refers to "#", which refers back to itself'),
  ]);
  // One file, checked within its workspace.
  const one = await here.run("validate", ".drivers/b-mcp/DRIVER.md", "--json");
  expect(one.code).toBe(1);
  expect((JSON.parse(one.out) as { diagnostics: Told[] }).diagnostics).toMatchObject([
    { message: "b-mcp: the ref_kind_id notes belongs to the driver a-mcp", line: 13 },
  ]);
});

test("the hint for a missing secret names the entry to move, or the error to correct", async () => {
  const here = smallPlace();
  here.driver("a-mcp", "", { env: { KEY: "${secrets.API_KEY}" } });
  here.driver("b-mcp", "", { env: { KEY: "${secrets.API_KEY}" } });
  here.write(".drivers/a-mcp/SECRETS.md", secretsFile("t1"));
  const errors = async (): Promise<Told[]> => {
    const { out } = await here.run("validate", "--json");
    return (JSON.parse(out) as { diagnostics: Told[] }).diagnostics.filter(
      ({ severity }) => severity === "error",
    );
  };
  expect(await errors()).toMatchObject([
    {
      message: expect.stringContaining("the driver a-mcp applies to a-mcp only") as string,
      hint: "Move the entry from the SECRETS.md of the driver a-mcp to .secrets/SECRETS.md, and grant it to each contract of b-mcp too.",
    },
  ]);
  here.write(".drivers/b-mcp/SECRETS.md", secretsFile("t1"));
  const both = (await errors()).filter(({ message }) => message.includes("no SECRETS.md has a valid entry"));
  expect(both).toHaveLength(2);
  for (const { hint } of both) expect(hint).toContain("correct the error that is reported about it");
});
