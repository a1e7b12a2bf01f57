// Scripts and packages: the lock file names the server of a package, and the metadata names the variable of a setting.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { portolan } from "../helpers/cli.ts";
import { filePackage, SERVER_SCRIPT, startFileServer, writePackageWorkspace } from "../helpers/packages.ts";

it("a script imports a package of the lock file, and sets the variable that its metadata names", async () => {
  const files = await startFileServer();
  const url = files.serve("/server.js", SERVER_SCRIPT);
  const { folder } = await writePackageWorkspace(
    filePackage(url, SERVER_SCRIPT, (document) => {
      document["security"].sandbox.required = false;
      document["mcp"].configuration = {
        schema: { type: "object", properties: { path: { type: "string" }, mode: { type: "string" } } },
        env: { path: "API_URL", mode: "NODE_OPTIONS" },
      };
    }),
  );
  const run = (setting: string, ...words: string[]): ReturnType<typeof portolan> => {
    const script = `@import mcp hub from @alice/github-mcp\n@mcp:config hub { ${setting} }\n@mcp v = hub.echo({})\nURL {{v.url}}\n`;
    writeFileSync(join(folder, "script.mld"), script);
    return portolan(["run", "script.mld", ...words], {
      cwd: folder,
      env: { XDG_DATA_HOME: join(folder, "data") },
    });
  };
  const plan = await run('path: "https://mine.example"', "--dry-run");
  expect(plan.out).toContain("sets API_URL");
  const ran = await run('path: "https://mine.example"');
  expect({ code: ran.code, out: ran.out, err: ran.code === 0 ? "" : ran.err }).toEqual({
    code: 0,
    out: "URL https://mine.example\n",
    err: "",
  });
  const refused = await run('mode: "--inspect"');
  expect(refused.code).toBe(2);
  expect(refused.err).toContain("A script must not set NODE_OPTIONS");
});
