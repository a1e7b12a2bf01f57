import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Diagnostic } from "../../errors/index.ts";
import { type DockerRun, parseProgram } from "../../model/index.ts";
import { ChildGroup, type Program } from "../../process/index.ts";
import type { SandboxPolicy } from "../types.ts";
import { dockerArgs } from "./arguments.ts";
import { createDocker, type DockerBackend, isPinned } from "./backend.ts";
import { ensureImage, probeEngine, publishedPort } from "./engine.ts";
import { unenforceableRules } from "./unenforceable.ts";

const DIGEST = `@sha256:${"a".repeat(64)}`;
let folder: string;
let docker: string;

interface Call {
  readonly argv: string[];
  readonly env: string[];
  readonly pid: number;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "portolan-docker-"));
  docker = join(folder, "docker");
  const standIn = fileURLToPath(new URL("../../../test/fixtures/docker-stand-in.mjs", import.meta.url));
  await writeFile(docker, `#!/bin/sh\nexec "${process.execPath}" "${standIn}" "$@"\n`);
  await chmod(docker, 0o755);
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
  vi.stubEnv("DOCKER_STAND_IN", folder);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => writeFile(join(folder, "calls.jsonl"), ""));

const calls = async (command: string): Promise<Call[]> =>
  (await readFile(join(folder, "calls.jsonl"), "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Call)
    .filter(({ argv }) => argv[0] === command);

function parse(line: string): DockerRun {
  const [command = "", ...args] = line.split(" ");
  const found = parseProgram({ command, args });
  if (found.kind !== "docker") throw new Error(found.kind);
  return found;
}

const policy = (more: Partial<SandboxPolicy> = {}): SandboxPolicy => ({
  mounts: [],
  home: "/home/sandbox",
  network: [],
  exec: { allow: undefined, spawn: true },
  limits: {},
  configuredLimits: new Set(),
  ...more,
});
const args = (line: string, more: Partial<SandboxPolicy> = {}, port?: number): readonly string[] =>
  dockerArgs({ run: parse(line), port }, policy(more), {
    container: "c",
    owner: ["--label", "portolan.owner=o"],
  }).args;
const problems = (line: string, more: Partial<SandboxPolicy> = {}, port?: number): string[] =>
  unenforceableRules({ run: parse(line), port, cwd: "/srv" }, policy(more)).map(({ rule }) => rule);

describe("the docker command line", () => {
  test("denies everything that the policy does not grant", () => {
    expect(args("docker run -it --rm --name mine image a -b")).toEqual(
      (
        "run --interactive --rm --init --name c --label portolan.owner=o --cap-drop ALL " +
        "--security-opt no-new-privileges --read-only --tmpfs /tmp:rw,nosuid,nodev --network none image a -b"
      ).split(" "),
    );
  });

  test("has the limits, mounts and network of the policy", () => {
    const words = args("docker run --memory 9g --pids-limit 7 --ulimit nofile=9 image", {
      network: ["*"],
      limits: { memoryBytes: 1024, processes: 5, openFiles: 6, cpuSeconds: 7, fileBytes: 8, niceness: 10 },
      configuredLimits: new Set(["memoryBytes"] as const),
      mounts: [
        { path: "/usr", access: "read", reason: "system" },
        { path: "/data", access: "read", reason: "declared" },
        { path: "/data/secret", access: "hidden", reason: "declared" },
        { path: "/elsewhere/secret", access: "hidden", reason: "declared" },
        { path: "/out,put", access: "write", reason: "root" },
      ],
    }).join(" ");
    expect(words).toContain("--network bridge");
    expect(words).toContain(
      "--memory 1024b --memory-swap 1024b --cpu-shares 110 --ulimit cpu=7:7 --ulimit fsize=8:8",
    );
    expect(words).toContain("--pids-limit 7");
    expect(words).not.toMatch(/9g|pids-limit 5|nofile=6|elsewhere|\/usr/);
    expect(words).toContain("--mount type=bind,source=/data,target=/data,readonly");
    expect(words).toContain("--mount type=tmpfs,target=/data/secret");
    expect(words).toContain('--mount type=bind,"source=/out,put","target=/out,put"');
  });

  test("mounts config files read-only and hides Portolan's data, and their folders stay in place", () => {
    const words = args("docker run -i image", {
      mounts: [
        { path: "/srv", access: "write", reason: "declared" },
        { path: "/srv/conf/portolan.yaml", access: "read", reason: "config file" },
        { path: "/srv/data/portolan", access: "hidden", reason: "portolan" },
      ],
    }).join(" ");
    expect(words).toContain(
      "--mount type=bind,source=/srv/conf/portolan.yaml,target=/srv/conf/portolan.yaml,readonly",
    );
    expect(words).toContain("--mount type=tmpfs,target=/srv/data/portolan");
    for (const path of ["/srv/conf", "/srv/data"])
      expect(words).toContain(`--mount type=bind,source=${path},target=${path} `);
  });

  test("contains a declared limit only once", () => {
    const words = args("docker run --ulimit nofile=9999 --ulimit core=1 image", {
      limits: { openFiles: 6 },
      configuredLimits: new Set(["openFiles"] as const),
    }).join(" ");
    expect(words).toContain("--ulimit nofile=6:6");
    expect(words).toContain("--ulimit core=1");
    expect(words).not.toContain("9999");
  });

  test("never treats the name of an image as an option", () => {
    for (const line of ["docker run -- --privileged image", "docker run - image", "docker run -- -v /:/x i"])
      expect(parseProgram({ command: "docker", args: line.split(" ").slice(1) })).toMatchObject({
        kind: "binary",
        note: expect.stringContaining("is not an image") as string,
      });
    expect(parse("docker run -- image --privileged")).toMatchObject({
      image: "image",
      args: ["--privileged"],
    });
  });

  test("contains no value of an environment variable", () => {
    const run = parse("docker run -e TOKEN=hush -e OTHER --env=THIRD=a=b -e DOCKER_HOST=x image");
    const made = dockerArgs({ run }, policy(), { container: "c", owner: ["--label", "portolan.owner=o"] });
    expect(made.args.join(" ")).toContain("--env TOKEN --env OTHER --env THIRD --env DOCKER_HOST=x image");
    expect(made.env).toEqual({ TOKEN: "hush", THIRD: "a=b" });
  });

  test("runs as the user who owns the files, and publishes a port on 127.0.0.1 only", () => {
    const names = { container: "c", owner: ["--label", "portolan.owner=o"], user: { uid: 7, gid: 8 } };
    const granted = policy({ mounts: [{ path: "/data", access: "write", reason: "declared" }] });
    expect(dockerArgs({ run: parse("docker run image") }, granted, names).args.join(" ")).toContain(
      "--user 7:8",
    );
    expect(dockerArgs({ run: parse("podman run image") }, granted, names).args).toContain("keep-id");
    expect(dockerArgs({ run: parse("docker run -u 1 image") }, granted, names).args).not.toContain("7:8");
    expect(args("docker run image", {}, 8000).join(" ")).toContain(
      "--network bridge --publish 127.0.0.1::8000",
    );
  });
});

describe("rules that a container engine cannot enforce", () => {
  test.each([
    "--privileged",
    "--network host",
    "--net=container:x",
    "--network bridge",
    "--pid host",
    "--ipc=host",
    "--userns host",
    "--cap-add SYS_ADMIN",
    "--device /dev/kvm",
    "--gpus all",
    "-v /:/host",
    "-v ./here:/there",
    "-v ~/x:/y",
    "-v /data:/data",
    "-v /read/../etc:/x:ro",
    "-v /var/run/docker.sock:/var/run/docker.sock",
    "--mount type=bind,source=/,target=/x",
    "--mount type=bind,src=/read/x,target=/x",
    "--mount type=volume,source=x,target=/x,volume-opt=device=/",
    "--mount type=volume,Type=bind,source=/,target=/host",
    "--mount type=tmpfs,type=bind,source=/,target=/host",
    "--mount TYPE=BIND,source=/,target=/host",
    '--mount type=volume,"type=bind",source=/,target=/host',
    "--mount type=bind,source=/read,src=/,target=/x,readonly",
    "--mount type=bind,source=/read,target=/x,readonly,ro=false",
    "--mount type=bind,source=/read,target=/x,readonly,bind-propagation=rshared",
    "--mount source=/,target=/x",
    "--mount type=volume,source=x,target=/x,volume-driver=local",
    "--mount type=volume,source=x,target=/x,Volume-Opt=device=/",
    "--mount type=glob,source=/*,target=/x",
    "--mount type=constructor,source=/,target=/x",
    "--mount type=bind,target=/x,constructor=/",
    "-v /read/a:/a:ro,rw",
    "-v /read/a:/a:O,upperdir=/x",
    "-v a/../../x:/a",
    "--env-file /etc/passwd",
    "--env-file=.env",
    "--label-file /read/../etc/passwd",
    "--label portolan.owner=x",
    "--log-driver syslog",
    "--log-opt path=/x",
    "--annotation a=b",
    "--network name=host",
    "--network slirp4netns:allow_host_loopback=true",
    "--volumes-from other",
    "--security-opt seccomp=unconfined",
    "--security-opt apparmor=unconfined",
    "-p 8080:80",
    "-P",
    "--runtime strange",
    "--sysctl a=b",
    "--use-api-socket",
    "--env-host",
  ])("are reported: %s", (flag) => {
    const mounts = [{ path: "/read", access: "read", reason: "declared" }] as const;
    expect(problems(`docker run -i ${flag} image`, { mounts })).toEqual([`args: ${flag}`]);
  });

  test.each([
    "-v data:/data",
    "-v /cache",
    "-v /read/a:/a:ro",
    "-v /write/a:/a",
    "--mount type=bind,src=/read/x,target=/x,readonly",
    "--mount type=tmpfs,target=/x",
    "--mount type=tmpfs,Destination=/x,tmpfs-size=1m",
    "--mount type=volume,src=data,dst=/x,volume-nocopy",
    "--mount Type=bind,src=/write/x,target=/x",
    "--env-file /read/env --label-file=/write/labels",
    "--log-driver none --log-opt max-size=1m",
    "-p 127.0.0.1:8080:80",
    "--network none",
    "--security-opt no-new-privileges",
    "--user 1000 --workdir /app --entrypoint x -l a=b --cpus 2 --pull always",
  ])("do not include %s", (flag) => {
    const mounts = [
      { path: "/read", access: "read", reason: "declared" },
      { path: "/write", access: "write", reason: "root" },
    ] as const;
    expect(problems(`docker run -i ${flag} image`, { mounts })).toEqual([]);
  });

  test("include a mount of a folder with a hidden part", () => {
    const mounts = [
      { path: "/read", access: "read", reason: "declared" },
      { path: "/read/secret", access: "hidden", reason: "declared" },
    ] as const;
    for (const path of ["/read", "/read/secret", "/read/secret/x"])
      expect(problems(`docker run -v ${path}:/x:ro image`, { mounts }), path).toHaveLength(1);
    expect(problems("docker run -v /read/other:/x:ro image", { mounts })).toEqual([]);
    const fixed = [
      { path: "/write", access: "write", reason: "declared" },
      { path: "/write/portolan.yaml", access: "read", reason: "config file" },
    ] as const;
    expect(problems("docker run -v /write:/x image", { mounts: fixed })).toHaveLength(1);
    for (const flag of ["/write:/x:ro", "/write/sub:/x"])
      expect(problems(`docker run -v ${flag} image`, { mounts: fixed })).toEqual([]);
  });

  test("include network rules", () => {
    expect(problems("docker run image", { network: ["a.test", "b.test"] })).toEqual([
      "network: a.test, b.test",
    ]);
    // The bridge gives access to the network of this machine and to the hosts in it.
    expect(problems("docker run image", { network: ["*"] })).toEqual(["network: *"]);
    expect(problems("docker run --network bridge image", { network: ["*"] })).toEqual(["network: *"]);
    expect(problems("docker run image", { network: ["*"] }, 80)).toEqual(["network: *"]);
    expect(problems("docker run --network none image", { network: ["*"] })).toEqual([]);
    for (const name of ["host", "name=host", "container:x"])
      expect(problems(`docker run --network ${name} image`, { network: ["*"] })).toEqual([
        `args: --network ${name}`,
        "network: *",
      ]);
    expect(problems("docker run image", {}, 80)).toEqual(["network: none"]);
    expect(problems("docker run image", { exec: { allow: ["git"], spawn: false } })).toEqual([
      "exec.allow",
      "exec.spawn: false",
    ]);
    const socket = [{ path: "/var/run", access: "write", reason: "declared" }] as const;
    expect(problems("docker run -v /var/run/docker.sock:/s image", { mounts: socket })).toHaveLength(1);
  });
});

const program = (line: string, env: Record<string, string> = {}): Program => ({
  file: docker,
  args: line.split(" ").slice(1),
  env: { HOME: "/home/sandbox", PATH: "/none", ...env },
  cwd: undefined,
});
const context = (seen: Diagnostic[] = []): Parameters<DockerBackend["wrap"]>[2] => ({
  server: "s",
  report: (diagnostic) => seen.push(diagnostic),
  onDenied: () => {},
  warnedImages: new Set(),
});

describe.skipIf(process.platform === "win32")("a docker backend with a fake engine", () => {
  test("connects the pipes of the server, passes variables by name only, and removes the container", async () => {
    const line = `docker run -i -e TOKEN -e INLINE=hush stdio${DIGEST}`;
    const backend = createDocker(parse(line));
    const spawnable = await backend.wrap(program(line, { TOKEN: "word" }), policy(), context());
    expect(JSON.stringify(spawnable.args)).not.toMatch(/hush|word/);
    const child = await ChildGroup.start(spawnable, "s");
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } } })}\n`,
    );
    const [chunk] = (await new Promise((resolve) =>
      child.stdout.once("data", (...data) => resolve(data)),
    )) as [Buffer];
    expect(chunk.toString()).toContain('"serverInfo"');
    await child.stop();
    const [run] = await calls("run");
    expect(run?.env).toEqual(expect.arrayContaining(["TOKEN", "INLINE", "HOME", "PATH"]));
    await vi.waitFor(async () => {
      expect((await calls("kill")).map(({ argv }) => argv)).toEqual([["kill", spawnable.container]]);
    });
  });

  test("finds a server on a port by the port that the engine published", async () => {
    const line = `docker run http${DIGEST}`;
    const backend = createDocker(parse(line), { port: 8000 });
    const spawnable = await backend.wrap(program(line), policy(), context());
    const { container } = spawnable;
    const signal = AbortSignal.timeout(20_000);
    const waiting = publishedPort({ file: docker, container, port: 8000, signal });
    const child = await ChildGroup.start(spawnable, "s");
    const port = await waiting;
    expect((await fetch(`http://127.0.0.1:${port}/mcp`, { method: "DELETE" })).status).toBeGreaterThan(0);
    child.signal("SIGKILL");
    await child.exited;
    await vi.waitFor(async () => expect(await calls("kill")).toHaveLength(1));
    const abort = new AbortController();
    const never = publishedPort({ file: docker, container: "none", port: 1, signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(never).rejects.toThrow("enough");
  });

  test("reports an engine that does not answer, and asks the engine again later", async () => {
    const backend = createDocker(parse("docker run image"));
    await writeFile(join(folder, "down"), "");
    expect(await backend.missing(policy())).toEqual([
      expect.objectContaining({
        rule: "docker engine",
        problem: expect.stringContaining("Cannot connect") as string,
      }),
    ]);
    await rm(join(folder, "down"));
    expect(await backend.missing(policy())).toEqual([]);
    expect(await backend.probe()).toMatchObject({ available: true, version: "99.1.0" });
    expect(await calls("version")).toHaveLength(2);
  });

  test("reports a missing engine", async () => {
    const empty = join(folder, "empty");
    await mkdir(empty);
    vi.stubEnv("PATH", empty);
    try {
      expect(await probeEngine("podman")).toMatchObject({
        available: false,
        findings: [{ ok: false, detail: 'the program "podman" is not installed', remedy: "Install Podman." }],
      });
    } finally {
      vi.stubEnv("PATH", `${folder}:${process.env.PATH}`);
    }
  });

  test("pulls an image once, before the server starts", async () => {
    const said: string[] = [];
    const pull = (image: string): Promise<void> =>
      ensureImage({ file: docker, image, onProgress: ({ what }) => said.push(what) });
    await pull("a/b:1");
    await pull("a/b:1");
    expect(said).toEqual(["pulling a/b:1", "pulled a/b:1"]);
    await expect(pull("missing")).rejects.toMatchObject({
      code: "INSTALL_FAILED",
      message: expect.stringContaining("pull access denied") as string,
    });
    const signal = AbortSignal.abort();
    await expect(ensureImage({ file: docker, image: "a/b:2", signal })).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });

  test("warns once in each workspace about an image that is not pinned to a digest", async () => {
    const backend = createDocker(parse("docker run some/image:latest"));
    for (const _workspace of [1, 2]) {
      const seen: Diagnostic[] = [];
      const one = context(seen);
      await backend.wrap(program("docker run some/image:latest"), policy(), one);
      await backend.wrap(program("docker run some/image:latest"), policy(), one);
      expect(seen.map(({ message }) => message)).toEqual([
        "The image some/image:latest is not pinned to a digest, so its content can change at any time.",
      ]);
    }
    expect(isPinned(`a${DIGEST}`)).toBe(true);
  });

  test("hides a file with a file, not with a folder", async () => {
    const secret = join(folder, "secret");
    await writeFile(secret, "");
    const mounts = [
      { path: folder, access: "read", reason: "declared" },
      { path: secret, access: "hidden", reason: "declared" },
    ] as const;
    const { args: words } = await createDocker(parse("docker run image")).wrap(
      program("docker run image"),
      policy({ mounts }),
      context(),
    );
    expect(existsSync(secret)).toBe(true);
    expect(words).toContain(`type=bind,source=/dev/null,target=${secret},readonly`);
  });
});
