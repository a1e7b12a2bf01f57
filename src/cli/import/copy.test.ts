import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ClientServer, ImportedFile } from "../../formats/clients/index.ts";
import type { ServerConfig } from "../../model/index.ts";
import { type CopyPlan, planCopy } from "./copy.ts";

function entry(alias: string, env?: Record<string, string>, file = "/f"): ClientServer {
  return {
    ...{ alias, name: alias, enabled: true, origin: { file, line: 1, column: 1, format: "cursor" } },
    endpoint: { transport: "stdio", command: "npx", args: ["-y", "server-files"], env },
  };
}

function fileOf(client: ImportedFile["client"], ...entries: ClientServer[]): ImportedFile {
  const file = `/${client}.json`;
  const servers = entries.map((one) => ({ ...one, origin: { ...one.origin, file } }));
  return { client, file, scope: "user", servers, diagnostics: [] };
}

async function plan(
  files: readonly ImportedFile[],
  { rename = false, declared = [] as ServerConfig[] } = {},
): Promise<Pick<CopyPlan, "text"> & { readonly added: string[]; readonly skipped: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-copy-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const { text, added, skipped } = await planCopy(folder, { servers: declared }, files, {
    home: "/home/me",
    rename,
    placeSecrets: async () => ({ inClear: false, written: ({ server }) => server }),
  });
  return {
    text,
    added: added.map(({ alias }) => alias),
    skipped: skipped.map(({ alias, reason, message }) => `${alias} ${reason}: ${message}`),
  };
}

test.each([true, false])("a server of two clients is imported once (rename: %s)", async (rename) => {
  const files = [
    fileOf("cursor", entry("files", { A: "1" })),
    fileOf("claude-code", entry("files", { A: "1" }), entry("fs", { A: "1" })),
  ];
  expect(await plan(files, { rename })).toMatchObject({
    added: ["files"],
    skipped: [
      "files there: the same server as in Cursor, so it is imported only once",
      "fs there: the same server as files of Cursor, so it is imported only once, as files",
    ],
  });
});

test("servers with different variables are both imported", async () => {
  const files = [fileOf("cursor", entry("files", { A: "1" })), fileOf("vscode", entry("fs", { A: "2" }))];
  expect(await plan(files)).toMatchObject({ added: ["files", "fs"], skipped: [] });
  const alike = [fileOf("cursor", entry("files")), fileOf("vscode", entry("files", { A: "2" }))];
  expect((await plan(alike, { rename: true })).added).toEqual(["files", "files-vscode"]);
  expect((await plan(alike.toReversed(), { rename: true })).added).toEqual(["files", "files-cursor"]);
});

test("a server that the workspace has under another name is not imported", async () => {
  const declared: ServerConfig[] = [entry("notes", undefined, "/portolan.yaml")];
  expect(await plan([fileOf("cursor", entry("files"))], { declared })).toMatchObject({
    added: [],
    skipped: ["files there: the workspace has this server as notes"],
  });
});
