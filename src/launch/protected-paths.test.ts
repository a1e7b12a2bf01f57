// Config files cannot be written from a sandbox, and Portolan's own data cannot be seen in one. In real sandboxes,
// as root and as an ordinary user.

import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { needs } from "../../test/helpers/needs.ts";
import { BACKENDS_AND_USERS, startedAs, type TestedBackend } from "../../test/helpers/sandbox.ts";
import { loadCatalog } from "../catalog/index.ts";
import type { SandboxConfig } from "../model/index.ts";
import { runProgram } from "../process/index.ts";
import type { Mount } from "../sandbox/index.ts";
import { createLaunchContext } from "./types.ts";
import { planLaunch } from "./launch.ts";
import { type LaunchRequest, prepare } from "./prepare.ts";

let folder = "";
/** The backend that the tests are about. */
let backend: TestedBackend = "bubblewrap";
let context = createLaunchContext();
const at = (name: string): string => join(folder, name);

function createFile(name: string, content = `content of ${name}\n`): string {
  mkdirSync(dirname(at(name)), { recursive: true });
  for (let above = dirname(at(name)); above !== folder; above = dirname(above)) chmodSync(above, 0o777);
  writeFileSync(at(name), content);
  chmodSync(at(name), 0o777);
  return at(name);
}

beforeEach(() => {
  context = createLaunchContext();
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-guarded-")));
  chmodSync(folder, 0o777);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

interface Wish extends Partial<LaunchRequest> {
  readonly as?: string;
  readonly sandbox: SandboxConfig;
  readonly homeFolder?: string;
}

function request(script: string, { sandbox, homeFolder, ...more }: Omit<Wish, "as">): LaunchRequest {
  return {
    server: "s",
    context,
    endpoint: { command: "sh", args: ["-c", script] },
    ...more,
    settings: { sandbox: { mode: "enforce", backend, ...sandbox }, homeFolder },
  };
}

async function shell(script: string, { as, ...wish }: Wish): Promise<string> {
  const { plan, spawnable } = await prepare(request(script, wish));
  // Without a sandbox, the attack would change this machine.
  if (plan.sandbox.backend !== backend) throw new Error("there is no sandbox");
  const { stdout, stderr } = await runProgram(startedAs(spawnable, as), { timeoutMs: 20_000 });
  return (stdout + stderr).trim();
}

async function mountsOf(sandbox: SandboxConfig): Promise<readonly Mount[]> {
  return (await planLaunch(request("true", { sandbox }))).sandbox.policy.mounts;
}

/** All the ways in which a shell can change or replace a file. */
const attempts = (file: string): string => `
  echo evil > ${file}
  echo evil >> ${file}
  rm -f ${file}
  mv ${file} ${file}.old
  echo evil > ${at("w/new")} && mv -f ${at("w/new")} ${file}
  ln -sf ${at("w/new")} ${file}
  ln ${file} ${at("w/other-name")} && echo evil > ${at("w/other-name")}
  mv ${dirname(file)} ${dirname(file)}.old
  rm -rf ${dirname(file)}
  umount ${file}`;

const WORKSPACE = {
  "w/portolan.yaml": "sources: [conf/*.yaml, .mcp.json]\nenv_file: secrets.env\nservers: {}\n",
  "w/conf/deep.yaml": "config:\n  servers: []\n",
  "w/.mcp.json": '{"mcpServers":{}}',
  "w/secrets.env": "TOKEN=1\n",
  "w/.drivers/a/DRIVER.md": "---\nid: a\n---\n",
  "w/.secrets/SECRETS.md": "---\n---\n",
};

for (const [name, as] of BACKENDS_AND_USERS)
  describe(`with ${name}, a server of ${as}`, needs(name, "an ordinary user"), () => {
    beforeAll(() => {
      backend = name;
    });
    afterAll(() => {
      backend = "bubblewrap";
    });

    test("cannot change the config files of its workspace in any way", async () => {
      for (const [name, text] of Object.entries(WORKSPACE)) createFile(name, text);
      context.configFiles.add((await loadCatalog(at("w"))).usedPaths);
      const sandbox = { fs: { write: [at("w")] } };
      const files = Object.keys(WORKSPACE).filter((name) => !/\.drivers|\.secrets/.test(name));
      for (const file of Object.keys(WORKSPACE)) await shell(attempts(at(file)), { as, sandbox });
      for (const [name, text] of Object.entries(WORKSPACE))
        expect([name, readFileSync(at(name), "utf8")]).toEqual([name, text]);
      await shell(`mkdir -p ${at("w/.drivers/evil")}; echo evil > ${at("w/.drivers/evil/DRIVER.md")}`, {
        as,
        sandbox,
      });
      expect(readdirSync(at("w/.drivers"))).toEqual(["a"]);
      // The server may write all other files; also manifest.yaml, because portolan.yaml lists other sources.
      createFile("w/manifest.yaml");
      await shell(`echo ok > ${at("w/manifest.yaml")}`, { as, sandbox });
      expect(readFileSync(at("w/manifest.yaml"), "utf8")).toBe("ok\n");
      const read = `cat ${files.map((name) => at(name)).join(" ")}`;
      expect(
        await shell(`cd ${at("w")} && mkdir -p src && echo ok > src/file && ${read}`, { as, sandbox }),
      ).toBe(
        files
          .map((name) => WORKSPACE[name as keyof typeof WORKSPACE])
          .join("")
          .trim(),
      );
      expect(readFileSync(at("w/src/file"), "utf8")).toBe("ok\n");
    });

    test("cannot change config files in a writable folder, also by a path with a symbolic link", async () => {
      createFile("w/portolan.yaml");
      createFile("w/.cursor/mcp.json");
      symlinkSync(at("w"), at("link"));
      const sandbox = { fs: { write: [`${at("link")}/../link/`] } };
      for (const top of ["w", "link"])
        for (const file of ["portolan.yaml", ".cursor/mcp.json"])
          await shell(attempts(at(`${top}/${file}`)), { as, sandbox });
      for (const file of ["w/portolan.yaml", "w/.cursor/mcp.json"])
        expect(readFileSync(at(file), "utf8")).toBe(`content of ${file}\n`);
    });

    test("cannot see the data of Portolan, and cannot create files there", async () => {
      createFile("home/data/portolan/gateway/token", "hush");
      createFile("home/cache/portolan/tools/x.json", "hush");
      createFile("home/config/portolan/own.yaml", "fixed");
      createFile("home/notes", "notes");
      for (const name of ["data", "cache", "config"])
        vi.stubEnv(`XDG_${name.toUpperCase()}_HOME`, at(`home/${name}`));
      for (const access of ["read", "write"] as const) {
        const sandbox = { fs: { [access]: [at("home")] } };
        const said = await shell(
          `cd ${at("home")}; cat notes; ls -A data/portolan cache/portolan; cat data/portolan/gateway/token
         mkdir -p data/portolan/store; mv data data.old; mv data/portolan x; rmdir data/portolan; umount data/portolan
         echo evil > config/portolan/own.yaml; echo evil > config/portolan/new.yaml; mv config/portolan y; mv config z`,
          { as, sandbox },
        );
        expect(said).toContain("notes");
        expect(said).not.toContain("hush");
        expect(readFileSync(at("home/data/portolan/gateway/token"), "utf8")).toBe("hush");
        expect(readdirSync(at("home/data/portolan"))).toEqual(["gateway"]);
        expect(readdirSync(at("home/config/portolan"))).toEqual(["own.yaml"]);
        expect(readFileSync(at("home/config/portolan/own.yaml"), "utf8")).toBe("fixed");
      }
    });

    test("cannot read the .env files beside its script, unless they are granted", async () => {
      const program = createFile("app/run.sh", `cat ${at("app/.env")} ${at("app/data")}`);
      createFile("app/package.json", "{}");
      createFile("app/.env", "hush");
      createFile("app/data", "data");
      const wish = { as, endpoint: { command: "sh", args: [program], cwd: at("app") } };
      const hidden = await shell("", { ...wish, sandbox: {} });
      expect(hidden).toContain("data");
      expect(hidden).not.toContain("hush");
      expect(await shell("", { ...wish, sandbox: { fs: { read: [at("app/.env")] } } })).toBe("hushdata");
    });

    test("can read the npm packages of its monorepo, without their .env files", async () => {
      createFile("mono/package.json", JSON.stringify({ workspaces: ["packages/*"] }));
      createFile("mono/secret", "hush");
      createFile("mono/node_modules/dep/index.js", 'module.exports = "dep";');
      createFile("mono/packages/lib/package.json", "{}");
      createFile("mono/packages/lib/index.js", 'module.exports = "lib";');
      createFile("mono/packages/lib/.env", "hush");
      symlinkSync("../packages/lib", at("mono/node_modules/lib"));
      createFile("mono/packages/srv/package.json", JSON.stringify({ dependencies: { dep: "1", lib: "1" } }));
      const program = createFile(
        "mono/packages/srv/server.mjs",
        `import dep from "dep"; import lib from "lib"; import { readFileSync } from "node:fs";
         console.log(dep, lib);
         for (const path of ["secret", "packages/lib/.env"])
           try { console.log(readFileSync("${at("mono")}/" + path, "utf8")); } catch {}`,
      );
      const endpoint = { command: process.execPath, args: [program] };
      expect(await shell("", { as, sandbox: {}, endpoint })).toBe("dep lib");
    });

    test("can use its own program and its own kept HOME in the data folder of Portolan", async () => {
      vi.stubEnv("XDG_DATA_HOME", at("home/data"));
      createFile("home/data/portolan/homes/other/secret", "hush");
      createFile("home/data/portolan/store/b/secret", "hush");
      const program = createFile(
        "home/data/portolan/store/a/run.sh",
        `find ${at("home/data")} -type f; echo $1 > $HOME/x`,
      );
      const homeFolder = dirname(createFile("home/data/portolan/homes/own/before"));
      const endpoint = { command: "sh", args: [program, "kept"] };
      const said = await shell("", { as, sandbox: { fs: { read: [at("home")] } }, homeFolder, endpoint });
      expect(said.split("\n").sort()).toEqual([join(homeFolder, "before"), program]);
      expect(readFileSync(join(homeFolder, "x"), "utf8")).toBe("kept\n");
      const other = await shell(`find ${at("home/data")} -type f; mv ${at("home/data")} ${at("home/e")}`, {
        as,
        sandbox: { fs: { write: [at("home")] } },
        homeFolder,
      });
      expect(other).toMatch(/mv: .*busy$/);
      const left = other.split("\n").slice(0, -1).sort();
      expect(left).toEqual([join(homeFolder, "before"), join(homeFolder, "x")]);
    });
  });

// The egress proxy works only for the user who runs the tests.
test("a server in a nested sandbox cannot change config files", needs("bubblewrap"), async () => {
  createFile("w/portolan.yaml", "servers: {}\n");
  context.configFiles.add((await loadCatalog(at("w"))).usedPaths);
  const sandbox = { fs: { write: [at("w")] }, network: ["allowed.invalid"], exec: { spawn: false } };
  const said = await shell(`echo evil > ${at("w/portolan.yaml")}; echo ok > ${at("w/file")}`, { sandbox });
  expect(said).toMatch(/Read-only|cannot create/);
  expect(readFileSync(at("w/portolan.yaml"), "utf8")).toBe("servers: {}\n");
  expect(existsSync(at("w/file"))).toBe(true);
});

describe("a sandbox is refused when", needs("bubblewrap"), () => {
  const refusal = async (sandbox: SandboxConfig): Promise<string> =>
    shell("true", { sandbox }).catch((error: Error) => error.message);

  test("a config file in it is a link that the server could replace; the target is always protected", async () => {
    createFile("w/real/portolan.yaml", "servers: {}\n");
    symlinkSync("real/portolan.yaml", at("w/portolan.yaml"));
    context.configFiles.add((await loadCatalog(at("w"))).usedPaths);
    const sandbox = { fs: { write: [at("w")] } };
    expect(await refusal(sandbox)).toContain(`fs.write: ${at("w")}: ${at("w/portolan.yaml")} leads to`);
    await shell(attempts(at("w/real/portolan.yaml")), { sandbox: { ...sandbox, mode: "warn" } });
    expect(readFileSync(at("w/real/portolan.yaml"), "utf8")).toBe("servers: {}\n");
  });

  test("a granted folder does not exist, with a hint that does not turn the sandbox off", async () => {
    const sandbox = { fs: { read: [at("nowhere")] } };
    const error: unknown = await shell("true", { sandbox }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      message: expect.stringContaining(`fs.read: ${at("nowhere")}`) as string,
      hint: `Run \`mkdir -p ${at("nowhere")}\`.`,
    });
  });

  test("a config file in it has a hard link", async () => {
    createFile("w/portolan.yaml", "servers: {}\n");
    linkSync(at("w/portolan.yaml"), at("w/second"));
    expect(await refusal({ fs: { write: [at("w")] } })).toContain("a hard link");
    expect(await refusal({ fs: { read: [at("w")] } })).toBe("");
  });

  test("it has a grant to write a config file, or a grant to the data of Portolan", async () => {
    vi.stubEnv("XDG_DATA_HOME", at("data"));
    createFile("w/portolan.yaml", "servers: {}\n");
    createFile("data/portolan/gateway/token", "hush");
    context.configFiles.add((await loadCatalog(at("w"))).usedPaths);
    expect(await refusal({ fs: { write: [at("w/portolan.yaml")] } })).toContain("config files decide");
    expect(await refusal({ fs: { read: [at("w/portolan.yaml")] } })).toBe("");
    for (const path of ["data/portolan", "data/portolan/gateway/token"])
      expect(await refusal({ fs: { read: [at(path)] } })).toContain("Portolan's own data");
  });
});

test(
  "a server cannot read the secrets of the gateway in its project, unless its config grants them",
  needs("bubblewrap"),
  async () => {
    const secrets = ["w/certs/gw.key", "w/secrets.env", "w/caller.txt", "w/otlp.txt", "w/other.txt"].map(
      (name) => createFile(name, "secret"),
    );
    createFile("w/certs/gw.pem", "certificate");
    const gateway = {
      tls: { cert: "certs/gw.pem", key: "certs/gw.key" },
      callers: [{ name: "ci", token: "${file:./caller.txt}" }],
    };
    const servers = { other: { command: "true", env: { TOKEN: "${file:./other.txt}" } } };
    const telemetry = { headers: { authorization: "Bearer ${file:./otlp.txt}" } };
    createFile("w/portolan.yaml", JSON.stringify({ env_file: "secrets.env", gateway, telemetry, servers }));
    const catalog = await loadCatalog(at("w"));
    context.configFiles.add(catalog.usedPaths);
    context.servers = catalog.servers;
    const script = `cat ${[...secrets, at("w/certs/gw.pem")].join(" ")} 2>/dev/null`;
    const endpoint = { command: "sh", args: ["-c", script], cwd: at("w") };
    expect(await shell(script, { sandbox: {}, endpoint })).toBe("certificate");
    const granted = { fs: { read: [at("w/certs")] } };
    expect(await shell(script, { sandbox: granted, endpoint })).toBe("secretcertificate");
  },
);

test("a granted folder inside of .drivers is writable; the rest of .drivers is read-only", async () => {
  createFile("w/.drivers/a/DRIVER.md", "---\nid: a\n---\n");
  createFile("w/.drivers/a/state/x");
  context.configFiles.add((await loadCatalog(at("w"))).usedPaths);
  const mounts = await mountsOf({ fs: { write: [at("w"), at("w/.drivers/a/state")] } });
  expect(
    mounts.filter(({ path }) => path.startsWith(folder)).map(({ path, access }) => [path, access]),
  ).toEqual([
    [at("w"), "write"],
    [at("w/.drivers"), "read"],
    [at("w/.drivers/a/state"), "write"],
  ]);
});

test("the config files of other clients in a writable home are read-only", async () => {
  vi.stubEnv("HOME", at("home"));
  createFile("home/.claude.json", "{}");
  createFile("home/.cursor/mcp.json", "{}");
  const mounts = await mountsOf({ fs: { write: ["~/"] } });
  const fixed = mounts.filter(({ reason }) => reason === "config file").map(({ path }) => path);
  expect(fixed).toEqual([at("home/.claude.json"), at("home/.cursor/mcp.json")]);
});
