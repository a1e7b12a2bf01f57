// The commands about drivers: resolve, diff, author, drivers accept, and drivers in the output of other commands.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { envelope, portolan, quoted, terminal } from "../../helpers/cli.ts";
import { startHttpServer } from "../../fixtures/http-server.mjs";
import { startSseServer } from "../../fixtures/sse-server.mjs";
import { started } from "../../helpers/connect.ts";
import { examplePlace, FILESYSTEM, FS_CONTRACTS, place } from "../../helpers/drivers.ts";
import { needs } from "../../helpers/needs.ts";

const CAT = ".drivers/cat-mcp/DRIVER.md";
const FILES = ".drivers/filesystem-mcp/DRIVER.md";
const NOTE = "tools/note-read/TOOL.md";

describe("resolve", () => {
  it("shows each phase, each rejection, and why the first driver is first", async () => {
    const { run } = examplePlace();
    const text = await run("resolve", "note-read", "--text");
    expect({ code: text.code, err: text.err }).toEqual({ code: 0, err: "" });
    expect(text.out).toMatch(/^1 candidates .*: cat-mcp, filesystem-mcp$/m);
    expect(text.out).toContain(
      "filesystem-mcp before cat-mcp: filesystem-mcp costs 0 units a call, cat-mcp costs 5 units a call",
    );
    expect(text.out).toContain(
      "Chosen filesystem-mcp@1.0.0: its tool read_text_file; input name as argument path; output from $.content",
    );

    const there = JSON.parse((await run("resolve", "note-read", "--region", "us-east-1")).out) as object;
    expect(there).toMatchObject({
      tool: "note-read",
      version: "1.0.0",
      asked: { region: "us-east-1", policy: { allowTags: ["self-hosted"] } },
      selected: "cat-mcp",
    });
  });

  it("exits with 3 if no driver is left, and names the nearest one", async () => {
    const { run } = examplePlace();
    const ran = await run(
      "resolve",
      "note-read",
      "--pin",
      "cat-mcp",
      "--policy",
      "deny=experimental",
      "--json",
    );
    expect(ran.code).toBe(3);
    expect(JSON.parse(ran.out)).toMatchObject({
      error: {
        code: "pinned_provider_unavailable",
        message: expect.stringContaining("the policy denies drivers tagged experimental"),
      },
    });
  });

  it("reads a policy from a file, and refuses unknown keys", async () => {
    const { run, write } = examplePlace();
    write("strict.yaml", "version: 1\ncontracts: { region: us-east-1 }\n");
    const ran = await run("resolve", "note-read", "--policy", "strict.yaml", "--json");
    expect(JSON.parse(ran.out)).toMatchObject({ selected: "cat-mcp" });
    const wrong = await run("resolve", "note-read", "--policy", "only=me");
    expect(wrong.code).toBe(2);
    expect(envelope(wrong).message).toContain('unknown part: "only=me"');
  });

  it("explains why the only driver of a contract is refused", async () => {
    const { run, change } = examplePlace();
    change(FILES, (text) => text.replaceAll("result_extract: $.content", "result_extract: $.contents"));
    const ran = await run("resolve", "note-list", "--text");
    expect(ran.code).toBe(3);
    expect(ran.out).toMatch(/- filesystem-mcp: it does not match its contracts: .*\$\.contents/);
  });

  it("suggests the nearest contract for an unknown one", async () => {
    const { run } = examplePlace();
    const error = envelope(await run("resolve", "note-raed"));
    expect(error).toMatchObject({ code: "TOOL_NOT_FOUND", hint: 'Did you mean "note-read"?' });
    const none = place();
    expect(envelope(await none.run("resolve", "x")).hint).toContain("portolan author");
  });
});

describe("diff", () => {
  it("shows which version a change needs, and whether the file has it", async () => {
    const { run, file, write } = examplePlace();
    const before = file(FILES);
    write("old/DRIVER.md", before);
    expect(await run("diff", "old", ".drivers/filesystem-mcp", "--text")).toMatchObject({
      code: 0,
      out: expect.stringContaining("There are no changes."),
    });
    write(
      FILES,
      before.replace("[self-hosted]", "[self-hosted, fast]").replace("version: 1.0.0", "version: 1.1.0"),
    );
    expect(JSON.parse((await run("diff", "old/DRIVER.md", FILES)).out)).toMatchObject({
      needs: "minor",
      enough: true,
    });
    write(
      FILES,
      before.replace(/ {2}- tool: \.\/tools\/note-list[^]*?content\n/, "").replace("1.0.0", "1.0.1"),
    );
    const ran = await run("diff", "old", FILES, "--text");
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("major implements note-list: a contract is not served any more");
    expect(ran.out).toContain("raise the version to 2.0.0");
  });

  it("compares contracts, and refuses two different kinds", async () => {
    const { run, file, write } = examplePlace();
    write(
      "TOOL.md",
      file(NOTE)
        .replace("required: [name]", "required: [name, lines]")
        .replace("name: {", "lines: { type: number }\n    name: {"),
    );
    const ran = await run("diff", NOTE, "TOOL.md");
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({ id: "note-read", needs: "major", enough: false });
    expect(envelope(await run("diff", NOTE, FILES)).code).toBe("USAGE");
    expect(envelope(await run("diff", NOTE, "nowhere")).message).toBe("nowhere does not exist.");
    expect(envelope(await run("diff", NOTE)).message).toContain("two files");
  });
});

describe("registration", () => {
  it("refuses a breaking change within the same major version, and keeps the other drivers", async () => {
    const { run, change, file, write } = examplePlace();
    expect((await run("status")).code).toBe(0);
    const before = file(CAT);
    change(CAT, (text) =>
      text.replace("transport: stdio", 'transport: stdio\nprotocol_version: "2025-11-25"'),
    );
    const ran = await run("status", "--json");
    expect(ran.code).toBe(3);
    expect(JSON.parse(ran.out)).toMatchObject({
      drivers: [
        {
          id: "cat-mcp",
          server: "refused",
          reason: expect.stringContaining("protocol_version"),
          problems: [
            { hint: expect.stringMatching(/raise the version to 2\.0\.0.*portolan drivers accept cat-mcp/) },
          ],
        },
        { id: "filesystem-mcp", server: "verified" },
      ],
    });
    // A contract is called by its own name.
    expect((await run("call", "note-read", "name=hello.md")).code).toBe(0);
    // A refused driver is not remembered, so it is refused again.
    expect((await run("status")).code).toBe(3);
    expect((await run("call", "contracts.note-read", "name=hello.md")).code).toBe(0);

    const changed = file(CAT);
    change(CAT, (text) => text.replace("version: 1.0.0", "version: 2.0.0"));
    expect((await run("status")).code).toBe(0);
    write(CAT, before);
    expect((await run("status")).code).toBe(0);
    write(CAT, changed);
    expect((await run("status")).code).toBe(3);
    const accepted = await run("drivers", "accept", "cat-mcp", "--text");
    expect(accepted.out).toContain("cat-mcp@1.0.0 is accepted (changes since 1.0.0).");
    expect(accepted.out).toContain("major protocol_version");
    expect((await run("status")).code).toBe(0);
  });

  it("accepts any change of a driver that has never worked", async () => {
    const { run, change } = examplePlace();
    change(CAT, (text) => text.replace("$.text", "$.nothing"));
    expect((await run("status")).code).toBe(3);
    change(CAT, (text) =>
      text
        .replace("$.nothing", "$.text")
        .replace("transport: stdio", 'transport: stdio\nprotocol_version: "2025-11-25"'),
    );
    expect((await run("status")).code).toBe(0);
  });
});

describe("author", () => {
  const author = ["author", `node ${FILESYSTEM}`, "--id", "files-mcp"];

  it("writes a driver and contracts that are valid and match the server", async () => {
    const here = place({ "notes/a.txt": "A" });
    const ran = await here.run(...author, "--allow-write", "notes", "--sample", "--json", "--", "./notes");
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    const made = JSON.parse(ran.out) as { tools: object[]; left: string[] };
    expect(made.tools).toContainEqual({
      tool: "list_directory",
      contract: "list-directory",
      new: true,
      argument_mapping: {},
      result_extract: "$.content",
    });
    expect(here.file(".drivers/files-mcp/DRIVER.md")).toMatch(
      /sandbox:\n {2}fs:\n {4}write: \[ ?\.\.\/\.\.\/notes ?\]/,
    );
    const write = here.file("tools/write-file/TOOL.md");
    expect(write).toContain("external:files");
    expect(write).toContain("approval: on-mutate");
    expect(here.file("tools/list-directory/TOOL.md")).not.toContain("mutates");
    expect(made.left.join("\n")).toContain("move-file: mutates is external:files");
    expect((await here.run("validate")).code).toBe(0);
    const why = await here.run("why", "files-mcp", "--text");
    expect(why.out).toContain("No action needed: the driver works.");
    const tested = await here.run("test", "files-mcp", "--json");
    expect(JSON.parse(tested.out)).toMatchObject({ passed: true });
  });

  it("never overwrites a file with other content", async () => {
    const here = place({ "notes/a.txt": "A" });
    const words = [...author, "--tools", "list_directory", "--text"];
    await here.run(...words, "--", "./notes");
    const again = await here.run(...words, "--", "./notes");
    expect(again.out).toContain("unchanged .drivers/files-mcp/DRIVER.md");
    here.change(".drivers/files-mcp/DRIVER.md", (text) =>
      text.replace("transport: stdio", "transport: stdio # mine"),
    );
    const edited = here.file(".drivers/files-mcp/DRIVER.md");
    const kept = await here.run(...words, "--", "./notes");
    expect(kept.code).toBe(0);
    expect(kept.out).toContain(
      "not overwritten .drivers/files-mcp/DRIVER.md, the proposal is in .drivers/files-mcp/DRIVER.md.new",
    );
    expect(here.file(".drivers/files-mcp/DRIVER.md")).toBe(edited);
    expect(here.file(".drivers/files-mcp/DRIVER.md.new")).not.toBe(edited);
  });

  it("keeps contracts of other names, and suggests the similar ones", async () => {
    const here = place({ ...FS_CONTRACTS, "notes/a.txt": "A" });
    const ran = await here.run(...author, "--tools", "read_text_file", "--yes", "--json", "--", "./notes");
    const made = JSON.parse(ran.out) as { left: string[] };
    expect(made).toMatchObject({ tools: [{ contract: "read-text-file", new: true }] });
    expect(made.left.join("\n")).toContain("--tools read_text_file=fs-read");
    const named = await here.run(
      ...[...author, "--tools", "read_text_file=note-read", "--dry-run", "--json", "--", "./notes"],
    );
    expect(JSON.parse(named.out)).toMatchObject({ tools: [{ contract: "note-read", new: true }] });
  });

  it("writes nothing with --dry-run, and prints the files", async () => {
    const here = place({ "notes/a.txt": "A" });
    const ran = await here.run(...author, "--tools", "get_file_info", "--dry-run", "--text", "--", "./notes");
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("tool_name: get_file_info");
    expect(ran.out).toContain("Nothing was written.");
    expect(ran.out).toContain(
      "The server gets the folder ./notes as an argument, but the sandbox of the server hides this folder",
    );
    expect(existsSync(join(here.cwd, ".drivers"))).toBe(false);
  });

  it("does not write secret values into its files", async () => {
    const here = place({ "notes/a.txt": "A" });
    const value = "s3cr3t-of-the-test";
    const ran = await here.run(
      ...[...author, "--tools", "list_directory", "--env", `API_TOKEN=${value}`, "--env", "MODE=fast"],
      ...["--json", "--", "./notes"],
    );
    expect(ran.code).toBe(0);
    expect(ran.out).not.toContain(value);
    const driver = here.file(".drivers/files-mcp/DRIVER.md");
    expect(driver).toContain("${secrets.API_TOKEN}");
    // The name of a secret must not reveal a part of its value.
    expect(driver).toContain('MODE: "${secrets.MODE}"');
    expect(driver + here.file(".drivers/files-mcp/SECRETS.md")).not.toMatch(/s3cr3t|fast/);
    const { left } = JSON.parse(ran.out) as { left: string[] };
    expect(left).toContain(
      "The value of MODE is a secret, so the new files do not contain it. Store it: portolan secrets set MODE",
    );
    const used = await portolan(["call", "contracts.list-directory", "path=.", "--json"], {
      cwd: here.cwd,
      env: { ...here.env, API_TOKEN: value, MODE: "fast" },
    });
    expect(used.code).toBe(0);
  });

  it.each([
    ["http", () => startHttpServer({ era: "modern" })],
    ["sse", () => startSseServer()],
  ] as const)("supports a remote server over %s", async (transport, begin) => {
    const server = await started<{ readonly url: string; close(): Promise<void> }>(begin());
    const here = place();
    const ran = await here.run(
      ...[
        "author",
        server.url,
        "--id",
        "there-mcp",
        "--tools",
        "echo",
        "--header",
        "Authorization: Bearer t0ken-of-the-test",
      ],
      "--json",
    );
    expect({ code: ran.code, err: ran.err }).toEqual({ code: 0, err: "" });
    expect(JSON.parse(ran.out)).toMatchObject({ kind: "remote", transport });
    const driver = here.file(".drivers/there-mcp/DRIVER.md");
    expect(driver).toContain(`auth: { token: "\${secrets.THERE_TOKEN}" }`);
    expect(driver).toContain(new URL(server.url).host);
    expect(driver).toMatch(/network:\n {2}egress:/);
    expect(driver + here.file(".drivers/there-mcp/SECRETS.md")).not.toContain("t0ken");
    const used = await portolan(["call", "echo", "text=hi", "--json"], {
      cwd: here.cwd,
      env: { ...here.env, THERE_TOKEN: "another" },
    });
    expect(used.code).toBe(0);
    expect(JSON.parse(used.out)).toMatchObject({ _meta: { "portolan/driver": "there-mcp" } });
  });

  it("distinguishes packages, images, programs and URLs", async () => {
    const here = place();
    expect(envelope(await here.run("author", "some server")).code).toBe("TARGET_INVALID");
    expect(envelope(await here.run("author", "ftp://x")).code).toBe("TARGET_INVALID");
    expect(envelope(await here.run("author", "dist/server.js")).hint).toContain(
      "If it is a file, there is no such file in ",
    );
    expect(envelope(await here.run("author")).hint).toContain("portolan author <npm package");
    expect(envelope(await here.run("author", "x", "--kind", "jar")).message).toContain(
      "--kind must be npm, docker",
    );
    expect(envelope(await here.run("author", `node ${FILESYSTEM}`, "--id", "No Good", "--", ".")).code).toBe(
      "USAGE",
    );
    const tool = await here.run(...author, "--tools", "list_dir", "--", ".");
    expect(envelope(tool).hint).toContain('Did you mean "list_directory"');
  });

  it("prompts at a terminal, and writes the choice", needs("a terminal"), async () => {
    const here = place({ ...FS_CONTRACTS, "notes/a.txt": "A" });
    const screen = terminal(
      `cd ${quoted([here.cwd])} && portolan author "node ${FILESYSTEM}" --tools read_text_file=fs-read,write_file=fs-write -- ./notes`,
      100,
      here.env,
    );
    await screen.shows("What is the driver's id?");
    screen.press("\r");
    await screen.shows("Write 1 file?");
    screen.press("\r");
    const { code, screen: shown } = await screen.done;
    expect(code).toBe(0);
    expect(shown).toContain("read_text_file → fs-read");
    expect(existsSync(join(here.cwd, ".drivers/secure-filesystem-mcp/DRIVER.md"))).toBe(true);
  });
});

describe("call", () => {
  it("reports the refused driver, and no drivers of other contracts", async () => {
    const { run, change } = examplePlace();
    change(CAT, (text) => text.replace("tool_name: cat", "tool_name: dog"));
    const other = await run("call", "note-list", "--json");
    expect({ code: other.code, err: other.err }).toEqual({ code: 0, err: "" });
    const own = await run("call", "note-read(name: 'hello.md')", "--text");
    expect(own.code).toBe(0);
    expect(own.err).toContain('the server has no tool "dog"');

    change(FILES, (text) => text.replaceAll("result_extract: $.content", "result_extract: $.contents"));
    const refused = await run("call", "note-list", "--json");
    // On a busy machine, the call itself detects it.
    expect([2, 3]).toContain(refused.code);
    if (refused.code === 2)
      expect(envelope(refused)).toMatchObject({
        code: "TOOL_NOT_FOUND",
        hint: expect.stringMatching(
          /filesystem-mcp: it does not match its contracts|refused: filesystem-mcp/,
        ) as string,
      });
    else expect(refused.out).toContain("filesystem-mcp");
    expect(refused.err).not.toContain("dog");
  });

  it("ends with the exit code of the failure", async () => {
    const { run, write } = examplePlace();
    const failed = await run("call", "note-read", "name=nothing.md", "--json");
    expect(failed.code).toBe(1);
    write("portolan.yaml", "version: 1\ncontracts: { allow_tags: [nobody] }\n");
    const nobody = await run("call", "note-list", "--json");
    expect(nobody.code).toBe(3);
    expect(JSON.parse(nobody.out)).toMatchObject({ isError: true });
  });
});

describe("drivers in other commands", () => {
  it("validate finds a binding without a tool, without starting a server", async () => {
    const { run, change } = examplePlace();
    change(CAT, (text) => text.replace("note-read/TOOL.md", "note-raed/TOOL.md"));
    const ran = await run("validate", "--text");
    expect(ran.code).toBe(1);
    expect(ran.out).toContain("the contract ./tools/note-raed/TOOL.md does not exist or has errors");
    expect(ran.out).toMatch(/cat-mcp\/DRIVER\.md .* not valid/);
    expect(ran.out).toMatch(
      /filesystem-mcp\/DRIVER\.md \(driver filesystem-mcp@1\.0\.0, for note-read, note-list\) valid/,
    );
  });

  it("why --plan shows how the server of a driver would be started", async () => {
    const { run, cwd } = examplePlace();
    const ran = await run("why", "--plan", "cat-mcp", "--json");
    expect(JSON.parse(ran.out)).toMatchObject({ server: "cat-mcp", cwd });
  });

  it("the code of a driver runs only with --driver-code", async () => {
    const { run, write, cwd } = examplePlace();
    write(
      ".drivers/cat-mcp/driver.mjs",
      `import { writeFileSync } from "node:fs"; writeFileSync("ran", ""); export default {};`,
    );
    const ran = await run("status", "--text");
    expect(ran.out).toContain(
      "Portolan did not run the code of the driver cat-mcp: driver code is not allowed",
    );
    expect(ran.code).toBe(3);
    expect(envelope(await run("test", "cat-mcp"))).toMatchObject({
      message: expect.stringContaining(
        "the code of the driver cat-mcp: driver code is not allowed",
      ) as string,
      hint: expect.stringContaining("--driver-code") as string,
    });
    expect(existsSync(join(cwd, "ran"))).toBe(false);
    const allowed = await run("status", "--driver-code", "--text");
    expect(allowed.out).toContain("its default export is not the result of defineDriverHooks()");
  });

  it("fits narrow terminals", needs("a terminal"), async () => {
    const { cwd, env } = examplePlace();
    for (const command of ["resolve note-read", "test cat-mcp", "why cat-mcp"]) {
      const { raw } = await terminal(`cd ${quoted([cwd])} && portolan ${command} --no-color`, 50, env).done;
      const shown = raw.slice(raw.indexOf(command.split(" ")[1] as string)).split(/\r?\n/);
      // A word that is too long stays whole.
      const long = shown.filter((line) => line.length > 50 && line.trim().split(/\s+/).length > 2);
      expect(long).toEqual([]);
    }
  });

  it("help and completion know the commands", async () => {
    const { run } = place();
    const script = (await run("completion", "bash")).out;
    for (const name of ["resolve", "diff", "test", "author", "drivers"]) {
      expect(script).toContain(`    ${name})`);
      expect((await run(name, "--help")).out).toContain("Examples:");
    }
  });
});
