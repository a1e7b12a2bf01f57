// Mistakes on the command line: the command does what the user means, or its hint says how to write it.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { stdioCommand } from "../fixtures/processes.mjs";
import {
  envelope,
  fixture,
  portolan,
  quoted,
  type Ran,
  resultText,
  temporaryFolder,
} from "../helpers/cli.ts";

test("secrets get, JSON without quotes, and a path without an option cause a hint", async () => {
  expect(envelope(await portolan(["secrets", "get", "X"])).hint).toContain(
    "No command shows the value of a secret. To see the names: portolan secrets list.",
  );
  expect(envelope(await portolan(["grant", "files", "~/my notes"])).hint).toBe(
    "For the path, write --read '~/my notes' or --write '~/my notes'",
  );
  const unquoted = envelope(await portolan(["call", fixture(), "echo", "text=a", "{text:a}"]));
  expect(unquoted.hint).toMatch(
    /^Put JSON in single quotes, so that the shell does not change it\. function/,
  );
});

test("add with a command that does not follow -- proposes the line to type", async () => {
  const cwd = temporaryFolder();
  const hint = async (...words: string[]): Promise<unknown> =>
    envelope(await portolan(["add", ...words], { cwd })).hint;
  expect(await hint("npx", "@x/server", "/my notes")).toBe(
    "Write a name for the server, then -- and its command: portolan add <name> -- npx @x/server '/my notes'",
  );
  expect(await hint("notes", "npx", "@x/server")).toBe(
    "Write the command after --: portolan add notes -- npx @x/server",
  );
  expect(await hint("notes", "https://notes.example/mcp", "more")).toBe(
    "A URL takes no arguments: portolan add notes https://notes.example/mcp",
  );
});

test("add writes a server whose program this computer does not have, and warns with a similar name", async () => {
  const [top, cwd] = [temporaryFolder(), temporaryFolder()];
  writeFileSync(join(top, "some-program"), "#!/bin/sh\n", { mode: 0o755 });
  const env = { PATH: `${top}:${process.env["PATH"]}` };
  const add = (...words: string[]) => portolan(["add", ...words], { cwd, env });
  const typo = await add("typo", "--text", "--", "some-progam", "server.js");
  expect(typo).toMatchObject({
    code: 0,
    out: expect.stringContaining("Created portolan.yaml with the server typo.") as string,
  });
  expect(typo.err).toContain(
    'warning The server typo could not start on this computer: cannot start "some-progam": no such program. Did you mean "some-program"? If not, install the program, or give its full path.',
  );
  expect(JSON.parse((await add("path", "--", "./none.sh")).out)).toMatchObject({
    written: true,
    diagnostics: [
      { code: "SERVER_START_FAILED", hint: expect.stringMatching(/^Check the spelling/) as string },
    ],
  });
  expect((await add("dry", "--dry-run", "--text", "--", "some-progam")).err).toContain(
    'Did you mean "some-program"?',
  );
  expect((await add("good", "--text", "--", "some-program")).err).toBe("");
});

test("call prefers a tool of the workspace to a program on the PATH with the same name", async () => {
  const [top, cwd] = [temporaryFolder(), temporaryFolder()];
  const { command, args } = stdioCommand("--era=modern");
  writeFileSync(join(cwd, "portolan.yaml"), JSON.stringify({ servers: { good: { command, args } } }));
  expect(resultText(await portolan(["call", "echo", "hello"], { cwd }))).toBe("hello");
  const failed = envelope(await portolan(["call", "true", "hello"], { cwd }));
  expect(failed).toMatchObject({ code: "SERVER_START_FAILED", server: "true" });
  expect(failed.hint).toContain(
    'No server of this workspace has a tool "true", so Portolan started the program "true".',
  );
  writeFileSync(join(top, "a-server"), `#!/bin/sh\nexec ${quoted([command, ...args])}\n`, { mode: 0o755 });
  const env = { PATH: `${top}:${process.env["PATH"]}` };
  const called = await portolan(["call", "a-server", "echo", "other"], { cwd, env });
  expect(resultText(called)).toBe("other");
});

test("call starts no program in place of a server that has the tool and does not start", async () => {
  const [cwd, state] = [temporaryFolder(), temporaryFolder()];
  const { command, args } = stdioCommand("--era=modern");
  const script = `#!/bin/sh\n[ -e broken ] && exit 1\nexec ${quoted([command, ...args])}\n`;
  writeFileSync(join(cwd, "server.sh"), script, { mode: 0o755 });
  writeFileSync(join(cwd, "portolan.yaml"), "servers: { good: { command: ./server.sh } }\n");
  const programs = temporaryFolder();
  for (const name of ["echo", "other"])
    writeFileSync(join(programs, name), `#!/bin/sh\nexec ${quoted([command, ...args])}\n`, { mode: 0o755 });
  const env = {
    ...{ PATH: `${programs}:${process.env["PATH"]}`, PORTOLAN_SANDBOX: "off" },
    ...{ XDG_DATA_HOME: state, XDG_CACHE_HOME: state },
  };
  const run = (...words: string[]): Promise<Ran> => portolan(words, { cwd, env });
  expect(resultText(await run("call", "echo", "hello"))).toBe("hello");
  writeFileSync(join(cwd, "broken"), "");
  expect(envelope(await run("call", "echo", "echo"))).toMatchObject({
    ...{ code: "SERVER_START_FAILED", server: "good", tool: "echo" },
  });
  // No list says that the server has this tool.
  const { code, out, err } = await run("call", "other", "echo", "hello");
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("hello") as string });
  expect(err).toContain('Server "good" cannot be used (');
  expect(err).toContain('It may have a tool "other", but Portolan starts the program "other" instead.');
});
