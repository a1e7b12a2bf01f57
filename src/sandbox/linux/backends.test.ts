// Real sandboxes with real programs: normal work succeeds, and no access outside of the policy does. As root and as
// an ordinary user.

import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needs } from "../../../test/helpers/needs.ts";
import { isRoot, startedAs, USERS } from "../../../test/helpers/sandbox.ts";
import { type Denied, limitRule, type SandboxConfig } from "../../model/index.ts";
import { ChildGroup, type Program, type Spawnable } from "../../process/index.ts";
import { type PolicyRequest, createPolicy } from "../policy/create-policy.ts";
import { programFolders } from "../policy/program-folders.ts";
import { findProgram } from "../policy/system-paths.ts";
import { createConfigFiles } from "../policy/protected-paths.ts";
import type { SandboxPolicy, SandboxBackend } from "../types.ts";
import { createBubblewrap } from "../bubblewrap/backend.ts";
import { createUnshare } from "../unshare/backend.ts";

interface Tested {
  readonly create: () => SandboxBackend;
  /** Whether the backend can run a sandbox in a sandbox, which a network list with spawn: false requires. */
  readonly nests: boolean;
  /** The account of an ordinary user: the stubs are made for the user that the tests run as. */
  readonly other: string;
}

const BACKENDS: Readonly<Record<"bubblewrap" | "unshare", Tested>> = {
  bubblewrap: { create: createBubblewrap, nests: true, other: isRoot ? "nobody" : "user" },
  unshare: { create: createUnshare, nests: false, other: "user" },
};

let folder = "";
const at = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-bwrap-")));
  chmodSync(folder, 0o755);
  for (const name of ["home/.ssh", "home/db", "data/secret", "data/sub", "elsewhere", "work/given"]) {
    mkdirSync(at(name), { recursive: true });
    chmodSync(at(name), 0o777);
  }
  chmodSync(at("data"), 0o777);
  for (const name of [
    "home/.ssh/id",
    "data/file",
    "data/secret/key",
    "data/token",
    "elsewhere/file",
    "work/given/file",
    "home/notes.db",
  ]) {
    writeFileSync(at(name), `content of ${name}\n`);
    chmodSync(at(name), 0o666);
  }
  symlinkSync(at("elsewhere"), at("data/link"));
  symlinkSync(at("data"), at("alias"));
  symlinkSync(at("work/given"), at("linked"));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Wish extends Partial<PolicyRequest> {
  readonly as?: string;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
}

const denied: string[] = [];
/** The backend that the tests are about. */
let backend: SandboxBackend = createBubblewrap();

async function sandboxed(command: readonly string[], request: Wish = {}): Promise<Spawnable> {
  const [name = "", ...args] = command;
  const file = await findProgram(name, process.env.PATH);
  if (file === undefined) throw new Error(`there is no ${name}`);
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", ...request.env };
  const program: Program = { file, args, cwd: request.cwd, env };
  const { policy, problems } = await createPolicy({
    configFiles: createConfigFiles(),
    ...{ program, config: undefined, roots: [], keptHome: undefined, homedir: at("home") },
    ...{ programFolders: await programFolders(file, args, request.cwd), ...request },
  });
  expect(problems).toEqual([]);
  const made = await backend.wrap(program, policy, {
    ...{ server: "s", report: () => {}, onDenied: ({ host }: Denied) => denied.push(host) },
    warnedImages: new Set(),
  });
  return startedAs(made, request.as);
}

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function run(command: readonly string[], request: Wish = {}): Promise<Ran> {
  const child = await ChildGroup.start(await sandboxed(command, request), "s");
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  // This is not "end": a process that outlives the program can keep the pipe open, so the pipe is destroyed then.
  const ended = new Promise((resolve) => child.stdout.once("close", resolve));
  child.stdin.end();
  const { code } = await child.exited;
  await ended;
  return { code, out: Buffer.concat(chunks).toString().trim(), err: child.stderrTail() };
}

const shell = (script: string, request: Wish = {}): Promise<Ran> => run(["sh", "-c", script], request);
const node = (script: string, request: Wish = {}): Promise<Ran> => run(["node", "-e", script], request);
/** The test finds the processes of this sandbox by the variable, whose value is not a path. */
const MARKED: Wish = {
  get env() {
    return { MARK: `mark ${folder}` };
  },
};
const fs = (granted: SandboxConfig["fs"]): Wish => ({ config: { fs: granted } });

for (const name of ["bubblewrap", "unshare"] as const)
  describe(`a sandbox of ${name}`, needs(name), () => {
    const tested = BACKENDS[name];
    const NAMES: Record<string, string> = { root: "user", "an ordinary user": tested.other };

    beforeAll(() => {
      backend = tested.create();
    });

    describe.each(USERS)("for %s", needs("an ordinary user"), (as) => {
      test("has its own HOME and /tmp, and no files of the user or of other programs", async () => {
        const { out, code, err } = await shell(
          `echo "$HOME $TMPDIR"; ls -A ~ /tmp; ls / | tr '\\n' ' '; touch ~/x /tmp/y && ls ~ /tmp`,
          { as, cwd: "/usr" },
        );
        expect(err).toBe("");
        expect(code).toBe(0);
        expect(out).toContain("/tmp/home /tmp\n");
        expect(out).not.toContain(".ssh");
        expect(out).not.toMatch(/\b(?:work|root|run|sys|srv|opt|mnt)\b/);
        expect(existsSync(at("home/x"))).toBe(false);
      });

      test("cannot write to a path that is in the config but not granted, or to its working folder", async () => {
        const script = `cd "$0"; echo x > here; mkdir -p "$1" && echo x > "$1/new"; echo x > "$2"; ls "$1"; cat "$2"
        echo x > given/new && rm given/new && cat given/file; echo x > ~/cache && echo x > /tmp/z && echo usable`;
        const words = [
          "sh",
          "-c",
          script,
          at("work"),
          at("home/db"),
          at("home/notes.db"),
          `--x=${at("linked/db")}`,
        ];
        const { out, err } = await run(words, {
          ...{ as, cwd: at("work"), cwdGranted: false },
          config: { fs: { write: [at("work/given")] } },
        });
        expect(out.split("\n")).toEqual(["content of work/given/file", "usable"]);
        const lines = err.trim().split("\n");
        expect(lines).toHaveLength(5);
        for (const line of lines) expect(line).toMatch(/(?:Permission denied|Read-only file system)$/);
        const { out: seen } = await run(["sh", "-c", 'readlink "$0"; cat "$0/file"', at("linked")], {
          ...{ as, config: { fs: { read: [at("work/given")] } } },
        });
        expect(seen.split("\n")).toEqual([at("work/given"), "content of work/given/file"]);
      });

      test("cannot write to the user's home, also if the config names a path in it", async () => {
        const script = `mkdir "$0/.cache" "$0/new" "$0/notes.d"; echo x > "$0/x"; echo x > "$0/.ssh/x"; ls "$0"
        echo new > "$0/db/new"; cat ~/db/new; cat ~/notes.db; echo x > ~/notes.db; mkdir -p ~/.cache/y && echo usable`;
        const config: SandboxConfig = { fs: { write: ["~/db"], read: ["~/notes.db"] } };
        const { out, err } = await shell(script.replaceAll("$0", at("home")), { as, config, cwd: "/usr" });
        expect(out.split("\n")).toEqual(["db", "notes.db", "new", "content of home/notes.db", "usable"]);
        expect(err.trim().split("\n")).toHaveLength(6);
        expect(readFileSync(at("home/db/new"), "utf8")).toBe("new\n");
        rmSync(at("home/db/new"));
        const whole = `ls "$0/.ssh"; cat "$0/notes.db"; echo x > "$0/x"; echo x > ~/x && echo usable`;
        const all = await shell(whole.replaceAll("$0", at("home")), { as, ...fs({ read: ["/"] }) });
        expect(all.out).toBe("usable");
        expect(readdirSync(at("home")).toSorted()).toEqual([".ssh", "db", "notes.db"]);
      });

      test("accepts any character in paths and values", async () => {
        const odd = at(`odd/-a "b" 'c'\n$(touch x) #\\ \t\u00e9;&`);
        mkdirSync(join(odd, "-sub"), { recursive: true });
        writeFileSync(join(odd, "-f le"), "content\n");
        writeFileSync(join(odd, "-sub/secret"), "secret\n");
        const script = `pwd; cat "$1/-f le"; ls -A "$1/-sub"; echo x > "$1/new"; printf '%s\\n' "$VALUE"`;
        const { out, err } = await run(["sh", "-c", script, "sh", odd], {
          ...{ as, cwd: odd, env: { VALUE: `'$(id)'\n"\\` } },
          ...fs({ read: [odd], deny: [join(odd, "-sub")] }),
        });
        expect(out).toBe(`${odd}\ncontent\n'$(id)'\n"\\`);
        expect(err).toContain("Read-only file system");
        expect(existsSync(join(odd, "new"))).toBe(false);
      });

      test("cannot write outside of its HOME and /tmp", async () => {
        const file = ["/etc/ld.so.conf", "/etc/services"].find((path) => existsSync(path)) ?? "";
        const files = `/x /usr/x /etc/x /usr/bin/x /etc/passwd ${file}`;
        const change = "(: >> $f || chmod 777 $f || mv $f $f-2) 2>/dev/null && echo $f";
        const { out } = await shell(`for f in ${files}; do ${change}; done; cat ${file}`, { as });
        expect(out).toBe(readFileSync(file, "utf8").trim());
      });

      test("has no capabilities, no other processes, and a system call filter", async () => {
        const { out } = await shell(
          "grep -E 'Cap|NoNew|Seccomp:' /proc/self/status; ls /proc | grep -c '^[0-9]'",
          {
            as,
          },
        );
        expect(out.match(/^Cap\w+:\s+0+$/gm)).toHaveLength(5);
        expect(out).toMatch(/NoNewPrivs:\s+1/);
        expect(out).toMatch(/Seccomp:\s+2/);
        expect(Number(out.split("\n").at(-1))).toBeLessThan(6);
      });

      test("has no network access", async () => {
        const server = createServer((socket) => socket.end("reached"));
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const { port } = server.address() as { port: number };
        const { out } = await node(
          `const net = require("node:net");
        net.connect(${port}, "127.0.0.1").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code));
        net.connect({ path: "\\0portolan" }).on("error", (e) => console.log(e.code));
        require("node:dns").lookup("example.com", (e) => console.log(e.code));
        console.log(Object.keys(require("node:os").networkInterfaces()).join());`,
          { as },
        );
        server.close();
        expect(out).not.toContain("reached");
        expect(out).toContain("ECONNREFUSED");
        expect(out).toMatch(/^lo$/m);
        expect(out).toMatch(/EAI_AGAIN|ENOTFOUND/);
      });

      test("can run common programs", async () => {
        const script =
          "git --version; bash -c 'echo $(echo sub shell)'; id -un; getent hosts localhost; date +%Z";
        const { out, code } = await shell(script, { as });
        expect(code).toBe(0);
        for (const text of ["git version", "sub shell", NAMES[as], "localhost"]) expect(out).toContain(text);
        const worker = await node(
          `const { Worker } = require("node:worker_threads");
        new Worker("console.log('worker')", { eval: true });
        require("node:child_process").exec("echo child", (e, out) => console.log(out.trim()));
        require("node:crypto").randomBytes(8); console.log(require("node:os").userInfo().username);`,
          { as },
        );
        expect(worker.out.split("\n").sort()).toEqual(["child", NAMES[as], "worker"]);
      });

      test("cannot create namespaces or mounts", async () => {
        const { out } = await shell(
          "unshare -U true 2>/dev/null && echo user; unshare -n true 2>/dev/null && echo net; mount -t tmpfs x /tmp 2>/dev/null && echo mount; echo end",
          { as },
        );
        expect(out).toBe("end");
      });

      test("enforces its limits", async () => {
        const { out } = await shell("cat /proc/self/limits", {
          ...{
            as,
            config: { limits: { memoryBytes: 2 ** 29, openFiles: 64, fileBytes: 4096, cpuSeconds: 9 } },
          },
        });
        expect(out).toMatch(/Max data size\s+536870912\s+536870912/);
        expect(out).toMatch(/Max open files\s+64\s+64/);
        expect(out).toMatch(/Max file size\s+4096\s+4096/);
        expect(out).toMatch(/Max cpu time\s+9\s+9/);
        expect(out).toMatch(/Max core file size\s+0\s+0/);
        const greedy = await node("Buffer.alloc(2 ** 30).fill(1); console.log('had it')", {
          ...{ as, config: { limits: { memoryBytes: 2 ** 29 } } },
        });
        expect(greedy.out).not.toContain("had it");
      });

      test("contains granted paths and not denied ones", async () => {
        const { out, err } = await shell(
          `cd ${at("data")}; cat file sub/* link/file secret/key token; ls -A secret; echo more >> file && echo written; cat ${at("alias/file")}`,
          {
            as,
            ...fs({ read: [at("alias"), at("elsewhere")], deny: [at("data/secret"), at("data/token")] }),
          },
        );
        expect(out.split("\n")).toEqual([
          "content of data/file",
          "content of elsewhere/file",
          "content of data/file",
        ]);
        expect(err).toContain("Read-only file system");
        expect(out).not.toContain("key");
      });

      test("can start threads but no processes if spawn is false", async () => {
        const { out } = await node(
          `const { Worker } = require("node:worker_threads");
        new Worker("console.log('worker')", { eval: true });
        try { require("node:child_process").execFileSync("/bin/true"); console.log("child"); } catch (e) { console.log(e.code); }`,
          { as, config: { exec: { spawn: false } } },
        );
        expect(out.split("\n").sort()).toEqual(["EPERM", "worker"]);
      });

      // Only the user that runs the tests can open the proxy's socket; test/sandbox/escape.test.ts tests the other user.
      if (!isRoot || as === "root")
        test("with a network list, refuses and reports other hosts, also if spawn is false", async () => {
          for (const spawn of [true, false]) {
            denied.length = 0;
            const { out, err } = await node(
              `require("node:dns").lookup("evil.test", (e) => console.log(e?.code));
          require("node:dns").lookup("own.localhost", (e) => console.log(e ?? "known"));
          try { require("node:child_process").execFileSync("/bin/true"); console.log("child"); } catch (e) { console.log(e.code); }`,
              { as, config: { network: ["own.localhost"], exec: { spawn } } },
            );
            expect(err).toBe("");
            expect(out.split("\n").sort()).toEqual(["ENOTFOUND", spawn ? "child" : "EPERM", "known"].sort());
            expect(denied).toEqual(["evil.test"]);
          }
        });

      test.skipIf(process.arch !== "x64")(
        "refuses forbidden system calls and allows others",
        needs("python3"),
        async () => {
          const script = `import ctypes, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*words): return 0 if libc.syscall(*words) >= 0 else ctypes.get_errno()
def opens(*words):
  try: socket.socket(*words).close(); return 0
  except OSError as e: return e.errno
# keyctl, ptrace, bpf, unshare, fanotify_init, memfd_secret, personality (no random addresses); getpid, personality (which).
print(*[call(n, 0, 0, 0, 0) for n in (250, 101, 321, 272, 300, 447)], call(135, 0x40000), call(39), call(135, 0xffffffff))
# vsock; MPTCP; netlink of the firewall, of devices, of routes; TCP, UDP.
print(opens(40, 1), opens(2, 1, 262), opens(16, 3, 12), opens(16, 3, 15), opens(16, 3, 0), opens(2, 1), opens(10, 2))
print(socket.if_nameindex(), socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM)[0][4][1])`;
          const { out } = await run(["/usr/bin/python3", "-c", script], { as });
          expect(out.split("\n")).toEqual(["1 1 1 1 1 38 1 0 0", "97 93 93 93 0 0 0", "[(1, 'lo')] 80"]);
        },
      );

      test("contains only the programs in exec.allow", async () => {
        const { out } = await shell(
          "cat /etc/hostname 2>/dev/null; for p in cat ls node git; do command -v $p; done; cat --version | head -1 2>/dev/null; echo end",
          { as, config: { exec: { allow: ["cat"] } } },
        );
        expect(out.split("\n")[0]).toMatch(/\/cat$/);
        expect(out).toContain("end");
        for (const name of ["/ls", "/node", "/git"]) expect(out).not.toContain(name);
      });
    });

    test("writes to granted folders, and keeps a HOME with home: kept", async () => {
      mkdirSync(at("kept"), { recursive: true });
      const { code } = await shell(`echo 1 > ${at("data/sub")}/written && echo 2 > ~/remembered`, {
        ...{ roots: [at("data/sub")], keptHome: at("kept") },
      });
      expect(code).toBe(0);
      expect(readFileSync(at("data/sub/written"), "utf8")).toBe("1\n");
      rmSync(at("data/sub/written"));
      expect(readFileSync(at("kept/remembered"), "utf8")).toBe("2\n");
    });

    test("can read the whole machine if / is granted, and still has its own HOME and /tmp", async () => {
      const granted = fs({ read: ["/"], deny: [at("data/secret")] });
      const { out, code } = await shell(`ls -A ~ /tmp | wc -l; ls / | grep -c usr; touch /usr/x`, granted);
      expect(code).not.toBe(0);
      expect(out.split("\n").at(-1)).toBe("1");
    });

    test("runs in the configured folder, also if this folder is not granted", async () => {
      expect((await shell("pwd; cat file", { cwd: at("data") })).out).toBe(
        `${at("data")}\ncontent of data/file`,
      );
      const implied = await shell("pwd; ls", { cwd: at("data"), cwdGranted: false });
      expect(implied.out).toBe(at("data"));
    });

    test("has only its own environment, and no value of it is on a command line", async () => {
      process.env.PORTOLAN_TEST_LEAK = "leaked";
      const env = { TOKEN: "hush-hush", LD_LIBRARY_PATH: "/nowhere/hush-too" };
      const made = await sandboxed(["sh", "-c", "env; cat /proc/*/cmdline"], { env });
      delete process.env.PORTOLAN_TEST_LEAK;
      expect(made.args.join(" ")).not.toContain("hush");
      expect(Object.keys(made.env)).not.toContain("LD_LIBRARY_PATH");
      made.spawned();
      made.ended();
      const { out } = await shell("env", { env });
      const names = out.split("\n").map((line) => line.replace(/=.*/, ""));
      expect(names.sort()).toEqual(["HOME", "LD_LIBRARY_PATH", "PATH", "PWD", "TMPDIR", "TOKEN"]);
    });

    test("applies variables of the dynamic loader only inside of the sandbox", async () => {
      const trace = await shell("true", {
        env: { LD_DEBUG: "files", LD_DEBUG_OUTPUT: at("data/sub/trace") },
      });
      expect(trace.code).toBe(0);
      expect(readdirSync(at("data/sub")).filter((name) => name.startsWith("trace"))).toEqual([]);
    });

    test("runs with the configured niceness", async () => {
      const { out } = await shell("nice", { config: { limits: { niceness: 7 } } });
      expect(Number(out)).toBeGreaterThanOrEqual(7);
    });

    test("reports rules that it cannot enforce as the config writes them", async () => {
      const config = { limits: { processes: 5 }, exec: { spawn: false }, network: ["example.com"] };
      const program = { file: "/bin/sh", args: [], cwd: undefined, env: {} };
      const { policy } = await createPolicy({
        configFiles: createConfigFiles(),
        ...{ program, config, roots: [], programFolders: [], keptHome: undefined, homedir: at("home") },
      });
      const problems = (await backend.missing(policy)).map(({ rule }) => rule);
      const nested = tested.nests ? [] : ["exec.spawn: false"];
      expect(problems).toEqual([...nested, ...(isRoot ? ["limits.processes: 5"] : [])]);
      const usual = { ...policy, network: [], configuredLimits: new Set<never>() };
      expect(await backend.missing(usual)).toEqual([]);
    });

    test("reports too many granted paths, and names limits as the config writes them", async () => {
      const program = { file: "/bin/sh", args: [], cwd: undefined, env: {} };
      const without = {
        ...{ roots: [], programFolders: [], keptHome: undefined, homedir: at("home") },
        configFiles: createConfigFiles(),
        program,
      };
      const { policy } = await createPolicy({ ...without, config: { limits: { memoryBytes: 3e8 } } });
      const many: SandboxPolicy["mounts"] = Array.from({ length: 1_001 }, (_, index) => ({
        ...{ path: `/srv/${index}`, access: "read", reason: "declared" },
      }));
      const problems = await backend.missing({ ...policy, mounts: [...policy.mounts, ...many] });
      expect(problems).toMatchObject([
        { rule: "fs: 1001 paths", remedy: "Grant the folders that contain these paths." },
      ]);
      expect(limitRule("memoryBytes", 3e8)).toBe("limits.memory: 300MB");
    });

    test("leaves no process and no file descriptor after a stop", async () => {
      const open = (): number => readdirSync("/proc/self/fd").length;
      await shell("true");
      const before = open();
      const child = await ChildGroup.start(
        await sandboxed(["sh", "-c", "sleep 1000 & echo up; sleep 1000"], MARKED),
        "s",
      );
      await new Promise((resolve) => child.stdout.once("data", resolve));
      child.signal("SIGKILL");
      await child.exited;
      await expect.poll(() => processesWith(folder)).toBe(0);
      await expect.poll(open).toBeLessThanOrEqual(before);
    });

    test("ends when the program that started it is killed", async () => {
      const made = await sandboxed(["sh", "-c", "sleep 1000 & echo up; sleep 1000"], MARKED);
      const stdio = JSON.stringify(["ignore", "inherit", "ignore", ...made.fds.map((_, index) => index + 3)]);
      const parent = spawn(
        process.execPath,
        [
          "-e",
          `require("node:child_process").spawn(${JSON.stringify(made.file)}, ${JSON.stringify(made.args)}, { stdio: ${stdio} })`,
        ],
        { stdio: ["ignore", "pipe", "ignore", ...made.fds], env: made.env },
      );
      made.spawned();
      await new Promise((resolve) => (parent.stdio[1] as NodeJS.ReadableStream).once("data", resolve));
      expect(processesWith(folder)).toBeGreaterThan(0);
      parent.kill("SIGKILL");
      await expect.poll(() => processesWith(folder)).toBe(0);
    });
  });

/** Processes with this value in their environment. */
function processesWith(text: string): number {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/environ`, "latin1").includes(text);
    } catch {
      return false;
    }
  }).length;
}
