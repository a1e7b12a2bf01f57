// One driver, contract or SECRETS.md with an error: the command reports it, and the rest works.

import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { envelope, start } from "../../helpers/cli.ts";
import { place } from "../../helpers/drivers.ts";
import { secretsFile, smallPlace, type SmallPlace } from "../../helpers/small-drivers.ts";

const HALF = "---\nname: Z\nid: z-mcp\n---\n";

function twoGood(): SmallPlace {
  const here = smallPlace();
  here.driver("a-mcp");
  here.driver("b-mcp");
  return here;
}

const BROKEN: readonly [string, Record<string, string>, string][] = [
  ["a driver with most fields missing", { ".drivers/z-mcp/DRIVER.md": HALF }, ".drivers/z-mcp/DRIVER.md:2:1"],
  ["a contract with missing fields", { "tools/t2/TOOL.md": "---\nid: t2\n---\n" }, "tools/t2/TOOL.md:2:1"],
  [
    "a SECRETS.md with an invalid list",
    { ".drivers/a-mcp/SECRETS.md": "---\nsecrets: 5\n---\n" },
    ".drivers/a-mcp/SECRETS.md:2:10",
  ],
  [
    "a DRIVER.md without front matter",
    { ".drivers/z-mcp/DRIVER.md": "hello" },
    ".drivers/z-mcp/DRIVER.md:1:1",
  ],
];

describe.each(BROKEN)("%s", (_, files, where) => {
  it("is reported by every command, and the other drivers serve", async () => {
    const here = twoGood();
    for (const [name, text] of Object.entries(files)) here.write(name, text);
    const called = await here.run("call", "t1");
    expect(called.code).toBe(0);
    expect(called.out).toContain("key");
    // The error is reported once, in short, with its place.
    expect(called.err).toContain(`  ${where} `);
    expect(called.err.trimEnd().split("\n")).toHaveLength(2);
    const resolved = await here.run("resolve", "t1");
    expect(resolved).toMatchObject({ code: 0, err: expect.stringContaining(where) });
    expect(JSON.parse(resolved.out)).toMatchObject({ selected: "a-mcp" });
    const listed = await here.run("list", "--text");
    expect(listed.code).toBe(0);
    expect(listed.out).toMatch(/^ {2}t1$/m);
    expect(listed.out).toContain(where);
    const status = await here.run("status", "--text");
    expect(status.out).toMatch(/a-mcp@1\.0\.0 {2}verified, serves t1/);
    expect(status.out).toContain(where);
    const validated = await here.run("validate", "--text");
    expect(validated.code).toBe(1);
    expect(validated.out).toContain(where);
  });
});

describe("an invalid driver", () => {
  it("is refused in status, and why shows the errors", async () => {
    const here = twoGood();
    here.write(".drivers/z-mcp/DRIVER.md", HALF);
    const status = await here.run("status", "--json");
    expect(status.code).toBe(3);
    expect(JSON.parse(status.out)).toMatchObject({
      healthy: false,
      drivers: [
        { id: "a-mcp", serves: true },
        { id: "b-mcp", serves: true },
        { id: "z-mcp", server: "refused", serves: false, reason: "description is missing" },
      ],
    });
    const text = (await here.run("status", "--text")).out;
    expect(text).toMatch(/^ {2}z-mcp +refused$/m);
    expect(text).toContain("1 of 3 drivers cannot serve calls. See why: portolan why z-mcp");
    const why = await here.run("why", "z-mcp", "--text");
    expect(why.code).toBe(3);
    expect(why.out).toContain("DRIVER.md:2:1 error kind is missing");
    expect((await here.run("why", "a-mcp", "--text")).out).toContain("No action needed: the driver works.");
  });

  it("can be named by its folder in why, if its id differs", async () => {
    const here = twoGood();
    renameSync(join(here.cwd, ".drivers/b-mcp"), join(here.cwd, ".drivers/c-mcp"));
    const why = await here.run("why", "c-mcp", "--text");
    expect(why.out).toMatch(/^b-mcp@1\.0\.0\n/);
    expect(why.out).toContain('the id "b-mcp" differs from the name of its folder');
    expect(why.code).toBe(0);
  });

  it("does not prevent the gateway from serving the others", async () => {
    const here = twoGood();
    here.write(".drivers/z-mcp/DRIVER.md", HALF);
    const running = start(["serve", "--port", "0", "--json", "--no-auth"], { cwd: here.cwd, env: here.env });
    const line = await new Promise<string>((resolve, reject) => {
      running.child.stdout?.once("data", (text) => resolve(String(text)));
      void running.done.then(({ code, err }) => reject(new Error(`it ended with ${code}: ${err}`)));
    });
    expect(JSON.parse(line)).toMatchObject({ servers: [{ alias: "contracts", state: "ready" }] });
    running.child.kill("SIGTERM");
    expect((await running.done).code).toBe(0);
  });

  it("is the error of a command if there is no other server", async () => {
    const here = place({ ".drivers/z-mcp/DRIVER.md": HALF });
    const ran = await here.run("status");
    expect(ran.code).toBe(2);
    expect(envelope(ran).message).toContain("description is missing");
    here.write("portolan.yaml", `version: 1\nservers: { x: { url: "http://127.0.0.1:1/mcp" } }\n`);
    expect(envelope(await here.run("resolve", "t1")).message).toContain("description is missing");
  });

  it("of an unsupported kind is skipped without an error", async () => {
    const here = twoGood();
    here.driver("z-cli");
    here.change(".drivers/z-cli/DRIVER.md", (text) =>
      text.replace("kind: mcp", "kind: cli").replace(/^(?:server|transport):.*\n/gm, ""),
    );
    expect(await here.run("call", "t1")).toMatchObject({ code: 0, err: "" });
    const validated = await here.run("validate", "--text");
    expect(validated.code).toBe(0);
    expect(validated.out).toContain("note Portolan ignores this driver, because its kind is cli");
    const status = await here.run("status", "--text");
    expect(status.code).toBe(0);
    expect(status.out).toContain("its kind is cli");
    expect((await here.run("why", "z-cli", "--text")).out).toContain("skipped");
  });

  it("with the id of another driver is left out, and reported", async () => {
    const here = twoGood();
    here.driver("c-mcp");
    here.change(".drivers/c-mcp/DRIVER.md", (text) => text.replace("id: c-mcp", "id: a-mcp"));
    expect((await here.run("resolve", "t1")).code).toBe(0);
    const status = await here.run("status", "--text");
    expect(status.out).toContain("a-mcp@1.0.0  verified, serves t1");
    expect(status.out).toContain("driver a-mcp is declared twice");
    expect((await here.run("why", "a-mcp", "--text")).out).toContain("driver a-mcp is declared twice");
  });

  it("errors in portolan.yaml prevent every call of a driver, and start no server", async () => {
    const here = twoGood();
    here.write("portolan.yaml", "version: 1\nservers: { x: { comand: node } }\n");
    const ran = await here.run("call", "t1");
    expect(ran.code).toBe(2);
    expect(envelope(ran).code).toBe("FILE_INVALID");
  });
});

it('a server named "contracts" is an error with its place', async () => {
  const here = twoGood();
  here.write("portolan.yaml", `version: 1\nservers:\n  contracts: { url: "http://127.0.0.1:1/mcp" }\n`);
  const ran = await here.run("resolve", "t1");
  expect(ran.code).toBe(2);
  const error = envelope(ran);
  expect(error.message).toMatch(
    /^portolan\.yaml:3:3 the server contracts uses the alias that is reserved for contracts/,
  );
  expect(error.hint).toBe("Rename the server contracts.");
  expect((await here.run("validate", "--text")).out).toContain(
    "portolan.yaml:3:3 error the server contracts",
  );
  expect((await here.run("call", "t1")).err).toContain("portolan.yaml:3:3 the server contracts");
});

describe("validate with a path", () => {
  it("checks a driver, contract or secrets file in its workspace", async () => {
    const here = twoGood();
    here.write(".drivers/z-mcp/DRIVER.md", HALF);
    here.write(".secrets/SECRETS.md", secretsFile("t1"));
    const valid = [
      ".drivers/a-mcp/DRIVER.md",
      ".drivers/a-mcp",
      "tools/t1/TOOL.md",
      "tools/t1",
      "tools",
      ".secrets/SECRETS.md",
      ".secrets",
    ];
    for (const path of valid) {
      const ran = await here.run("validate", path);
      expect({ path, code: ran.code, out: JSON.parse(ran.out) as unknown }).toMatchObject({
        path,
        code: 0,
        out: { valid: true, files: [{ valid: true }], diagnostics: [] },
      });
    }
    for (const path of [".drivers/z-mcp/DRIVER.md", ".drivers/z-mcp", ".drivers"])
      expect((await here.run("validate", path)).code).toBe(1);
    // The contracts of a driver are found in the workspace around it.
    here.change(".drivers/a-mcp/DRIVER.md", (text) => text.replace("tools/t1/", "tools/t9/"));
    const ran = await here.run("validate", ".drivers/a-mcp", "--text");
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("the contract ./tools/t9/TOOL.md does not exist or has errors");
    expect((await here.run("validate", ".drivers/b-mcp")).code).toBe(0);
  });

  it("checks a driver without a workspace around it", async () => {
    const here = smallPlace();
    // There are contracts, and no driver.
    expect(JSON.parse((await here.run("validate")).out)).toMatchObject({ valid: true, files: [{}] });
    here.write("tools/t1/TOOL.md", "---\nid: t1\n---\n");
    expect((await here.run("validate")).code).toBe(1);
    here.driver("a-mcp");
    const elsewhere = place({ "some/DRIVER.md": here.file(".drivers/a-mcp/DRIVER.md") });
    for (const path of ["some", "some/DRIVER.md"]) {
      const ran = await elsewhere.run("validate", path, "--text");
      expect(ran.code).toBe(0);
      expect(ran.out).toContain(
        "the binding to ./tools/t1/TOOL.md is not checked: its contract is not in this folder",
      );
    }
  });
});

describe("auth.ref", () => {
  const withRef = (ref: string): SmallPlace => {
    const here = smallPlace({}, { API_KEY: "the-key" });
    here.driver("a-mcp", `auth: { ref: ${ref} }`, { env: { API_KEY: "${secrets.API_KEY}" } });
    return here;
  };

  it.each([".drivers/a-mcp/sec/SECRETS.md", "sec/SECRETS.md"])(
    "can name a secrets file with grants: %s",
    async (at) => {
      const here = withRef("./sec/SECRETS.md");
      here.write(at, secretsFile("t1"));
      expect(await here.run("validate")).toMatchObject({ code: 0 });
      const ran = await here.run("call", "t1", "--text");
      expect(ran).toMatchObject({ code: 0, err: "" });
      // The value itself is not shown, but it arrived.
      expect(ran.out).not.toContain('"key":""');
    },
  );

  it("is an error with its place if the file is missing", async () => {
    const here = withRef("./NOPE.md");
    const ran = await here.run("validate", "--text");
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/DRIVER\.md:\d+:14 error auth\.ref \.\/NOPE\.md does not exist/);
  });

  it.each(["../../../outside/SECRETS.md", "./link/SECRETS.md"])(
    "cannot name a file outside the workspace: %s",
    async (ref) => {
      const here = withRef(ref);
      const outside = join(dirname(here.cwd), "outside");
      mkdirSync(outside);
      writeFileSync(join(outside, "SECRETS.md"), secretsFile("t1"));
      symlinkSync(outside, join(here.cwd, ".drivers/a-mcp/link"));
      const ran = await here.run("validate", "--text");
      expect(ran.code).toBe(1);
      expect(ran.out).toContain("is outside of the workspace, so Portolan does not read it");
      expect((await here.run("call", "t1")).code).not.toBe(0);
    },
  );
});
