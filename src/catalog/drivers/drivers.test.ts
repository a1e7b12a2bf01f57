import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ContractsEndpoint } from "../../model/index.ts";
import { readConfigFile } from "../files/read-file.ts";
import { findDrivers } from "./drivers.ts";
import { loadCatalog } from "../load.ts";

function workspace(files: Record<string, string>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-drivers-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const driver = (id: string, tool: string, env = ""): string => `---
name: ${id}
id: ${id}
description: A driver.
version: 1.0.0
kind: mcp
server: { kind: binary, path: /bin/server${env} }
transport: stdio
implements:
  - { tool: ${tool}, version: "*", metadata: { mcp: { tool_name: it } } }
---
`;
const tool = (id: string, version = "1.0.0", more = ""): string => `---
name: ${id}
id: ${id}
description: A tool.
version: ${version}
inputs: { type: object }
outputs: { type: string }
${more}
---
`;
const secrets = (slug: string, more = ""): string => `---
secrets:
  - { slug: ${slug}, name: A secret, description: For tests., access: { bind: [{ tool: it }] }${more} }
---
`;

async function load(
  files: Record<string, string>,
): Promise<ContractsEndpoint & { readonly problems: string[] }> {
  const { servers, diagnostics } = await loadCatalog(workspace(files));
  const endpoint = servers.find(({ alias }) => alias === "contracts")?.endpoint as ContractsEndpoint;
  return { ...endpoint, problems: diagnostics.map(({ message }) => message) };
}

test.each<Record<string, string>>([{}, { ".drivers/b-mcp/DRIVER.md": driver("b-mcp", "x") }])(
  "code without a DRIVER.md is a warning, beside the drivers %j",
  async (others) => {
    const { problems } = await load({ ...others, ".drivers/a-mcp/driver.ts": "" });
    expect(problems).toContain("Portolan does not use driver.ts, because there is no DRIVER.md beside it");
  },
);

test("finds drivers with their code and contracts, and the secrets of the workspace", async () => {
  const found = await load({
    ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "./tools/it/TOOL.md"),
    ".drivers/a-mcp/driver.js": "",
    ".drivers/b-mcp/DRIVER.md": driver("b-mcp", "./tools/own/TOOL.md"),
    ".drivers/b-mcp/tools/own/TOOL.md": tool("own"),
    "tools/it/TOOL.md": tool("it"),
    ".tools/other/TOOL.md": tool("other"),
    ".secrets/SECRETS.md": secrets("api-key"),
  });
  expect(found.problems).toEqual([]);
  expect(found.contracts.map(({ id }) => id).sort()).toEqual(["it", "other", "own"]);
  expect(found.drivers.map(({ driver: { id }, entry }) => [id, entry !== undefined])).toEqual([
    ["a-mcp", true],
    ["b-mcp", false],
  ]);
  expect(found.secrets.map(({ slug }) => slug)).toEqual(["api-key"]);
});

test("the result does not depend on the order in which the files are read", async () => {
  const ids = ["a", "b", "c"];
  const folder = workspace({
    ...Object.fromEntries(ids.map((id) => [`.drivers/${id}/DRIVER.md`, driver(id, id)])),
    ...Object.fromEntries(ids.map((id) => [`tools/${id}/TOOL.md`, tool(id, "one")])),
  });
  const found = (late: string) =>
    findDrivers(folder, {}, new Map(), {
      read: async (file) => {
        const text = await readConfigFile(file);
        const turns = file.includes(`/${late}/`) ? 100 : 0;
        for (let turn = 0; turn < turns; turn += 1) await setImmediate();
        return text;
      },
    });
  const first = await found("a");
  expect(first.files).toHaveLength(6);
  expect(first.diagnostics).not.toEqual([]);
  expect(await found("b")).toEqual(first);
});

test.each(["1.0.0", "1.0.1", "2.0.0"])(
  "a contract of the workspace wins over the version %s of it in a driver",
  async (version) => {
    const found = await load({
      ".drivers/evil-mcp/DRIVER.md": driver("evil-mcp", "it"),
      ".drivers/evil-mcp/tools/it/TOOL.md": tool("it", version),
      "tools/it/TOOL.md": tool("it", "1.0.0", "approval: always"),
    });
    expect(found.contracts.map((one) => [one.id, one.approval])).toEqual([["it", "always"]]);
    expect(found.problems.join()).toMatch(
      /the contract it is declared twice: Portolan uses \S+tools.it.TOOL\.md and ignores \S+evil-mcp.tools.it.TOOL\.md/,
    );
  },
);

test("a contract that two drivers declare is ignored", async () => {
  const found = await load({
    ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "it"),
    ".drivers/a-mcp/tools/it/TOOL.md": tool("it"),
    ".drivers/b-mcp/DRIVER.md": driver("b-mcp", "it"),
    ".drivers/b-mcp/tools/it/TOOL.md": tool("it"),
  });
  expect(found.contracts).toEqual([]);
  const [first, second] = found.problems.filter((problem) => problem.includes("the contract it"));
  expect(first).toMatch(/Portolan uses neither \S+b-mcp.tools.it.TOOL\.md nor \S+a-mcp.tools.it.TOOL\.md/);
  expect(second).toMatch(/Portolan uses neither \S+a-mcp.tools.it.TOOL\.md nor \S+b-mcp.tools.it.TOOL\.md/);
});

test("a contract outside of the workspace is not read", async () => {
  const found = await load({ ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "../../../../outside/TOOL.md") });
  expect(found.contracts).toEqual([]);
});

test.each([
  ["evil-key", ", metadata: { bindings: { env: [EVIL_KEY, API_KEY] } }"],
  ["api-key", ""],
])("a driver cannot declare a secret of the workspace again (%s)", async (slug, more) => {
  const found = await load({
    ".drivers/evil-mcp/DRIVER.md": driver("evil-mcp", "it"),
    ".drivers/evil-mcp/SECRETS.md": secrets(slug, more),
    "tools/it/TOOL.md": tool("it"),
    ".secrets/SECRETS.md": secrets("api-key").replace("tool: it", "tool: another"),
  });
  expect(found.secrets.map((entry) => [entry.slug, entry.access.bind])).toEqual([
    ["api-key", [{ tool: "another" }]],
  ]);
  expect(found.problems.join()).toContain("is also in a SECRETS.md in .secrets of the workspace");
});

describe("the SECRETS.md of a driver applies only to that driver", () => {
  const two = (files: Record<string, string>): Record<string, string> => ({
    ".drivers/good-mcp/DRIVER.md": driver("good-mcp", "it"),
    ".drivers/good-mcp/SECRETS.md": secrets("api-key"),
    ".drivers/new-mcp/DRIVER.md": driver("new-mcp", "it"),
    "tools/it/TOOL.md": tool("it"),
    ...files,
  });

  test("its entries have the id of the driver, and entries of the workspace have none", async () => {
    const found = await load(two({ ".secrets/SECRETS.md": secrets("other-key") }));
    expect(found.problems).toEqual([]);
    expect(found.secrets.map((entry) => [entry.slug, entry.driver])).toEqual([
      ["other-key", undefined],
      ["api-key", "good-mcp"],
    ]);
  });

  test.each([
    ["the same slug", secrets("api-key")],
    ["a variable of another name", secrets("new-key", ", metadata: { bindings: { env: [API_KEY] } }")],
    ["a slug with a namespace", secrets("new/api-key")],
    ["the variable of the environment", secrets("portolan-secret-api-key")],
  ])("a secret that two drivers declare is ignored: %s", async (_, own) => {
    const found = await load(two({ ".drivers/new-mcp/SECRETS.md": own }));
    expect(found.secrets).toEqual([]);
    expect(found.problems).toEqual([
      "Portolan ignores the secret api-key of the driver good-mcp: API_KEY is also in the SECRETS.md of the driver new-mcp",
      expect.stringMatching(
        /of the driver new-mcp: API_KEY is also in the SECRETS.md of the driver good-mcp$/,
      ),
    ]);
  });

  const referring = (id: string, ref: string): string =>
    driver(id, "it").replace("transport:", `auth: { ref: ${ref} }\ntransport:`);

  test.each([
    ["../good-mcp/SECRETS.md", {}, ["good-mcp"]],
    [
      "./sec/SECRETS.md",
      { "sec/SECRETS.md": secrets("api-key"), ".drivers/good-mcp/SECRETS.md": secrets("x-key") },
      ["good-mcp", "new-mcp"],
    ],
  ])("auth.ref cannot use the SECRETS.md of another driver: %s", async (ref, files, owners) => {
    const alone = await load(two({ ...files, ".drivers/new-mcp/DRIVER.md": referring("new-mcp", ref) }));
    expect(alone.secrets.map((entry) => entry.driver)).toEqual(owners);
    const both = await load(
      two({
        ...files,
        ".drivers/new-mcp/DRIVER.md": referring("new-mcp", ref),
        ".drivers/good-mcp/DRIVER.md": referring("good-mcp", ref),
      }),
    );
    expect(both.secrets.some((entry) => entry.driver === "new-mcp")).toBe(false);
    expect(both.problems.join()).toContain("the file belongs to the driver good-mcp");
  });
});

test("of two drivers with the same id, the one in the folder of this name is used, else neither", async () => {
  const files = {
    ".drivers/aaa/DRIVER.md": driver("good-mcp", "it", ", args: [impostor]"),
    ".drivers/good-mcp/DRIVER.md": driver("good-mcp", "it"),
    "tools/it/TOOL.md": tool("it"),
  };
  const found = await load(files);
  expect(found.drivers.map((one) => one.driver.origin.file.includes("/good-mcp/"))).toEqual([true]);
  const { ".drivers/good-mcp/DRIVER.md": good, ...rest } = files;
  expect(found.problems.join()).toMatch(/Portolan uses \S+good-mcp.DRIVER\.md and ignores \S+aaa.DRIVER\.md/);
  const none = workspace({ ...rest, ".drivers/bbb/DRIVER.md": good });
  const { servers, diagnostics } = await loadCatalog(none);
  expect(servers).toEqual([]);
  const problems = diagnostics.map(({ message }) => message.replaceAll(`${none}/.drivers/`, ""));
  expect(problems.filter((problem) => problem.includes("twice"))).toEqual([
    "driver good-mcp is declared twice: Portolan uses neither bbb/DRIVER.md nor aaa/DRIVER.md",
    "driver good-mcp is declared twice: Portolan uses neither aaa/DRIVER.md nor bbb/DRIVER.md",
  ]);
});

test("errors of drivers are listed separately from errors of servers", async () => {
  const { servers, diagnostics, ofDrivers } = await loadCatalog(
    workspace({
      "portolan.yaml": "version: 1\nservers: { x: { comand: node } }\n",
      ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "./tools/it/TOOL.md"),
      ".drivers/z-mcp/DRIVER.md": "---\nid: z-mcp\n---\n",
      "tools/it/TOOL.md": tool("it"),
    }),
  );
  expect(servers.map(({ alias }) => alias)).toContain("contracts");
  expect(new Set(ofDrivers?.map(({ file }) => file?.replace(/^.*\.drivers/, "")))).toEqual(
    new Set(["/z-mcp/DRIVER.md"]),
  );
  expect(diagnostics.filter((one) => ofDrivers?.includes(one) !== true).length).toBeGreaterThan(0);
});

test("a server that is named contracts stays, and is reported as an error of the drivers", async () => {
  const { servers, ofDrivers } = await loadCatalog(
    workspace({
      "portolan.yaml": "version: 1\nservers:\n  contracts: { command: node }\n",
      ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "./tools/it/TOOL.md"),
      "tools/it/TOOL.md": tool("it"),
    }),
  );
  expect(servers).toMatchObject([{ alias: "contracts", endpoint: { transport: "stdio" } }]);
  expect(ofDrivers).toMatchObject([
    {
      severity: "error",
      server: "contracts",
      line: 3,
      column: 3,
      file: expect.stringMatching(/portolan\.yaml$/),
    },
  ]);
});

test("a driver whose kind changed to an unsupported one is no longer used", async () => {
  const mcp = driver("a-mcp", "./tools/it/TOOL.md");
  const cli = mcp.replace("kind: mcp", "kind: cli");
  const folder = workspace({ ".drivers/a-mcp/DRIVER.md": mcp, "tools/it/TOOL.md": tool("it") });
  const memory = new Map<string, unknown>();
  expect((await findDrivers(folder, {}, memory)).server).toBeDefined();
  writeFileSync(join(folder, ".drivers/a-mcp/DRIVER.md"), cli);
  const found = await findDrivers(folder, {}, memory);
  expect(found.server).toBeUndefined();
  expect(found.files).toContainEqual(expect.objectContaining({ format: "driver", valid: true }));
  expect(found.diagnostics).toMatchObject([{ severity: "info" }]);
});

describe("auth.ref", () => {
  const withRef = (ref: string): Record<string, string> => ({
    ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "./tools/it/TOOL.md").replace(
      "transport:",
      `auth: { ref: ${ref} }\ntransport:`,
    ),
    "tools/it/TOOL.md": tool("it"),
  });

  test.each([
    ["./sec/SECRETS.md", ".drivers/a-mcp/sec/SECRETS.md"],
    ["./sec/SECRETS.md", "sec/SECRETS.md"],
    ["./sec", "sec/SECRETS.md"],
    ["./keys.md", ".drivers/a-mcp/keys.md"],
    [".secrets/SECRETS.md", ".secrets/SECRETS.md"],
  ])("%s finds %s", async (ref, file) => {
    const found = await load({ ...withRef(ref), [file]: secrets("a-key") });
    expect(found.problems).toEqual([]);
    expect(found.secrets.map(({ slug }) => slug)).toEqual(["a-key"]);
  });

  test.each([
    ["./NOPE.md", "auth.ref ./NOPE.md does not exist"],
    [
      "../../../SECRETS.md",
      "auth.ref ../../../SECRETS.md is outside of the workspace, so Portolan does not read it",
    ],
  ])("%s is reported", async (ref, message) => {
    const found = await load(withRef(ref));
    expect(found.problems).toEqual([message]);
    expect(found.secrets).toEqual([]);
  });

  test("the hint about a file outside of the workspace says that auth.ref changes too", async () => {
    const { diagnostics } = await findDrivers(workspace(withRef("../../../SECRETS.md")), {}, new Map());
    expect(diagnostics.map(({ hint }) => hint).join("\n")).toContain("write its new path in auth.ref");
  });

  test("the possible paths of a missing file are watched", async () => {
    const folder = workspace(withRef("./sec/SECRETS.md"));
    const { missing } = await findDrivers(folder, {}, new Map());
    expect(missing).toEqual([join(folder, ".drivers/a-mcp/sec/SECRETS.md"), join(folder, "sec/SECRETS.md")]);
  });
});

test("a missing vendored program is reported until it exists", async () => {
  const path = ".drivers/a-mcp/DRIVER.md";
  const text = driver("a-mcp", "it").replace(
    "transport:",
    "install: [{ method: npm, package: x }, { method: vendored, path: bin/x }]\ntransport:",
  );
  expect(text).toContain("vendored");
  const files = { [path]: text, "tools/it/TOOL.md": tool("it") };
  expect((await load(files)).problems).toEqual([
    expect.stringMatching(/the vendored program .*[\\/]a-mcp[\\/]bin[\\/]x does not exist/),
  ]);
  expect((await load({ ...files, ".drivers/a-mcp/bin/x": "" })).problems).toEqual([]);
});

test("an example that does not match its contract is reported", async () => {
  const wrong = tool("it").replace("---\n", "---\nexamples: [{ name: a, input: { nothing: 1 } }]\n");
  const { problems } = await load({
    ".drivers/a-mcp/DRIVER.md": driver("a-mcp", "it"),
    "tools/it/TOOL.md": wrong,
  });
  expect(problems).toEqual([expect.stringContaining('the input of the example "a" does not match inputs')]);
});

describe("the skill_ref of a prompt", () => {
  const REF = "./skills/sum/SKILL.md";
  const withPrompts = driver("a-mcp", "it").replace(
    "implements:",
    `prompts:
  - { name: p, integrate_as: skill_block, skill_ref: ${REF} }
  - { name: q, integrate_as: raw }
implements:`,
  );
  const skill = (name: string): string => `---\nname: ${name}\ndescription: A skill.\n---\n`;
  const read = async (files: Record<string, string>) => {
    const { servers, diagnostics } = await loadCatalog(
      workspace({ ".drivers/a-mcp/DRIVER.md": withPrompts, "tools/it/TOOL.md": tool("it"), ...files }),
    );
    const endpoint = servers.find(({ alias }) => alias === "contracts")?.endpoint as ContractsEndpoint;
    return { skills: endpoint.drivers[0]?.driver.skills, diagnostics };
  };

  test.each(["", ".drivers/a-mcp/"])("gives the name of the skill, relative to %j", async (base) => {
    const { skills, diagnostics } = await read({ [`${base}skills/sum/SKILL.md`]: skill("sum") });
    expect(skills).toEqual({ [REF]: "sum" });
    expect(diagnostics).toEqual([]);
  });

  test("gives a warning if the skill has another name than its folder", async () => {
    const { skills, diagnostics } = await read({ "skills/sum/SKILL.md": skill("other") });
    expect(skills).toEqual({ [REF]: "other" });
    expect(diagnostics).toMatchObject([{ severity: "warning", line: 10 }]);
  });

  test.each([
    ["missing", {}, "does not exist"],
    ["broken", { "skills/sum/SKILL.md": "---\nname: Not A Name\n---\n" }, "cannot be read"],
  ])("to a skill that is %s is an error with its position in DRIVER.md", async (_, files, message) => {
    const { skills, diagnostics } = await read(files);
    expect(skills).toEqual({ [REF]: null });
    expect(diagnostics).toContainEqual(
      expect.objectContaining({
        severity: "error",
        message: expect.stringContaining(message) as string,
        file: expect.stringContaining("DRIVER.md") as string,
        line: 10,
        column: 43,
      }),
    );
  });
});
