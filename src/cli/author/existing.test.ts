// The existing parts of a workspace: the driver of an earlier run, and secrets of other drivers.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { binding, contract, driver, object, secret, TEXT, tool } from "../../../test/helpers/contracts.ts";
import { parseSecrets } from "../../formats/driver/index.ts";
import type { Contract, Driver } from "../../model/index.ts";
import { type Choice, chooseByFlags } from "./choose.ts";
import { withCredentials, writeSecrets } from "./credentials.ts";
import { draftDriver } from "./draft.ts";
import { existingDriver, existingSecrets, type KnownSecrets, SecretNames } from "./existing.ts";
import { keptBindings } from "./kept-bindings.ts";
import type { NewFile } from "../output/write-files.ts";

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-author-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function filesOf(
  choices: readonly Choice[],
  folder: string,
  contracts: readonly Contract[],
  existing?: Driver,
): readonly NewFile[] {
  const server = { kind: "binary", path: "files", args: [], env: {} } as const;
  return draftDriver({
    id: "files-mcp",
    identified: { server, transport: "stdio", target: {} as never, name: "files" },
    credentials: () => ({ server, secrets: [], values: [] }),
    existing,
    launch: {},
    surfaces: { prompts: [], resources: [], notes: [] },
    folder,
    contracts,
    tools: choices.map((choice) => choice.tool),
    choices,
    samples: new Map(),
    title: "Files",
  }).files;
}

describe("an existing driver", () => {
  const tools = [tool(), tool({ name: "list_files" })];
  const own = driver({
    implements: [binding({ argumentMapping: { path: "file" }, metadata: { mine: 1 } })],
  });

  test("keeps its bindings, also if --tools names only the tool", () => {
    const there = [tool({ inputSchema: object({ file: TEXT }) }), tools[1] as never];
    const kept = keptBindings(own, [contract()], there, "/nowhere");
    expect(kept.notes).toEqual([
      expect.stringContaining("does not use these tools of the server: list_files. To add"),
    ]);
    for (const wanted of [undefined, ["read_file"], ["read_file=fs-read"]]) {
      const choices = chooseByFlags(there, [contract()], wanted, kept);
      expect(choices).toHaveLength(1);
      expect(choices[0]?.bound).toMatchObject({
        kept: true,
        draft: { tool: "fs-read", range: "^1.0.0", argumentMapping: { path: "file" }, metadata: { mine: 1 } },
      });
      expect(filesOf(choices, "/nowhere", [contract()])).toHaveLength(1);
    }
    const more = chooseByFlags(there, [contract()], ["read_file", "list_files"], kept);
    expect(more.map(({ bound }) => bound?.contract.id)).toEqual(["fs-read", undefined]);
  });

  test("is bound again if its server changed, and a note names bindings that cannot stay", () => {
    const changed = keptBindings(own, [contract()], tools, "/nowhere");
    expect(changed.choices).toMatchObject([
      {
        bound: { draft: { argumentMapping: {} } },
        notes: [expect.stringContaining("no longer matches the server")],
      },
    ]);
    const gone = keptBindings(own, [contract()], [tool({ name: "other" })], "/nowhere");
    expect(gone.choices).toEqual([]);
    expect(gone.notes[0]).toContain(
      "which the server does not have. The new DRIVER.md does not contain this binding.",
    );
    expect(keptBindings(own, [], tools, "/nowhere").notes[0]).toContain(
      "the contract fs-read does not exist or has errors",
    );
  });

  test("keeps fields that no server provides, such as its version and its tags", async () => {
    const folder = temporary();
    const choices: Choice[] = [{ tool: tool(), bound: undefined }];
    const [first] = filesOf(choices, folder, []);
    const edited = first?.text
      .replace('version: "1.0.0"', 'version: "2.1.0"\nregion: [ eu ]\npolicy_tags: [ mine ]')
      .replace(/^description: .*$/m, "description: My own words.");
    mkdirSync(join(folder, ".drivers/files-mcp"), { recursive: true });
    writeFileSync(first?.path ?? "", edited ?? "");
    const existing = await existingDriver(folder, "files-mcp");
    expect(existing).toMatchObject({ version: "2.1.0" });
    const [again] = filesOf(choices, folder, [], existing);
    expect(again?.text).toMatch(/My own words[^]*version: "2\.1\.0"[^]*region: \[ eu \][^]*\[ mine \]/);
  });
});

describe("secrets of a new driver", () => {
  const NONE: KnownSecrets = { own: [], others: [] };
  const given = (
    env: Record<string, string>,
    known = NONE,
    served = ["fs-read"],
  ): ReturnType<typeof withCredentials> => {
    const server = { kind: "binary", path: "files", args: [], env: {} } as const;
    const names = new SecretNames(known, "two-mcp", served);
    return withCredentials(server, "two", names, { options: { env } as never });
  };

  test("are all values of --env, whatever their names", () => {
    const env = { DB: "postgres://u:p@h/db", MODE: "fast", lower: "a", _: "b", MY__VAR: "c", my_var: "d" };
    const { server, secrets } = given(env);
    expect(server).toMatchObject({
      env: {
        DB: "${secrets.DB}",
        MODE: "${secrets.MODE}",
        lower: "${secrets.LOWER}",
        _: "${secrets.MCP_VALUE}",
        MY__VAR: "${secrets.MY_VAR}",
        my_var: "${secrets.MY_VAR_2}",
      },
    });
    const written = writeSecrets(secrets, "two-mcp", ["fs-read", "12", "true"]);
    const { secrets: entries, diagnostics } = parseSecrets(written, "SECRETS.md");
    expect(diagnostics).toEqual([]);
    expect(entries).toHaveLength(6);
    expect(entries[0]?.access.bind).toEqual([{ tool: "fs-read" }, { tool: "12" }, { tool: "true" }]);
  });

  test("have a different name for each header", () => {
    const server = { kind: "remote", url: "https://x.example/mcp" } as const;
    const headers = { Authorization: "Bearer a", "X-Token": "b", Token: "c" };
    const names = new SecretNames(NONE, "two-mcp", []);
    const { secrets } = withCredentials(server, "two", names, { options: { headers } as never });
    expect(secrets.map(({ name }) => name)).toEqual(["TWO_TOKEN", "TWO_TOKEN_2", "TWO_TOKEN_3"]);
  });

  test("do not reuse an entry of another driver, but reuse a workspace entry that grants access", () => {
    const entry = secret({ envNames: ["API_KEY"] });
    const [taken] = given({ API_KEY: "x" }, { own: [], others: [entry] }).secrets;
    expect(taken).toMatchObject({ name: "TWO_MCP_API_KEY", as: "API_KEY", taken: entry });
    const granted = secret({ access: { reveal: [], bind: [{ tool: "fs-read" }], rotate: [] } });
    const known = { own: [granted], others: [] };
    expect(given({ API_KEY: "x" }, known).secrets[0]).toMatchObject({ name: "API_KEY", entry: granted });
    const more = given({ API_KEY: "x" }, known, ["fs-read", "fs-write"]).secrets[0];
    expect(more).toMatchObject({ name: "TWO_MCP_API_KEY" });
  });

  test("are compared with secrets of the workspace and of other drivers, not with its own earlier ones", async () => {
    const folder = temporary();
    for (const [place, name] of [
      [".secrets", "A_A"],
      [".secrets/team", "B_B"],
      [".drivers/one-mcp", "C_C"],
      [".drivers/two-mcp", "D_D"],
    ] as const) {
      mkdirSync(join(folder, place), { recursive: true });
      writeFileSync(join(folder, place, "SECRETS.md"), writeSecrets([{ name, as: name }], "x", ["fs-read"]));
    }
    const { own, others } = await existingSecrets(folder, "two-mcp", []);
    expect([own, others].map((list) => list.map(({ slug }) => slug))).toEqual([["a-a", "b-b"], ["c-c"]]);
  });
});
