// Launch diagnostics: a refused connection or path explains later failures, not earlier or unrelated ones.

import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Diagnostic, type ErrorCode, PortolanError } from "../../errors/index.ts";
import type { LaunchNews } from "../../launch/index.ts";
import { type CallToolResult, IN_PROGRAM, type JsonObject } from "../../model/index.ts";
import { createLaunchDiagnostics } from "./launch-diagnostics.ts";
import type { PathDenial } from "./refused-paths.ts";
import { type SandboxDenial, sandboxDenials } from "./result-denials.ts";

const denied = (host: string): LaunchNews => ({
  ...{ type: "denied", server: "web", host, port: 0, reason: "no" },
});

function setUp() {
  const reported: Diagnostic[] = [];
  const forwarded: LaunchNews[] = [];
  const reports = createLaunchDiagnostics(
    "web",
    (one) => reported.push(one),
    (news) => forwarded.push(news),
  );
  return { ...reports, reported, forwarded };
}

const failure = (code: ErrorCode, hint?: string): PortolanError =>
  new PortolanError(code, "m", { server: "web", tool: "t", stderr: "e", data: { a: 1 }, hint });

test("reports a refused host once, and forwards every refusal", () => {
  const { onLaunch, reported, forwarded } = setUp();
  for (const host of ["a.test", "a.test", "b.test"]) onLaunch(denied(host));
  expect(reported.map(({ code, message }) => [code, message])).toEqual([
    ["SANDBOX_DENIED", 'The sandbox of server "web" denied a connection to a.test: no'],
    ["SANDBOX_DENIED", 'The sandbox of server "web" denied a connection to b.test: no'],
  ]);
  expect(forwarded).toHaveLength(3);
});

test("explains failures after a refusal, and not earlier failures", () => {
  const { onLaunch, explain } = setUp();
  const before = performance.now();
  expect(explain(failure("RPC_ERROR"), before).hint).not.toContain("sandbox");
  onLaunch(denied("a.test"));
  for (const code of ["RPC_ERROR", "TIMEOUT", "SERVER_START_FAILED"] as const) {
    const explained = explain(failure(code), before);
    expect(explained.hint).toMatch(/^The server tried to reach a\.test, which .*--allow-net a\.test, /);
    expect({ ...explained.toJSON(), hint: "" }).toEqual({ ...failure(code).toJSON(), hint: "" });
  }
  for (const error of [failure("SERVER_CRASHED"), failure("RPC_ERROR", "Look there.")])
    expect(explain(error, before).hint).toMatch(
      new RegExp(`^${error.hint} The server tried to reach a\\.test, `),
    );
  const other = failure("INPUT_INVALID");
  expect(explain(other, before)).toBe(other);
  const later = failure("RPC_ERROR");
  expect(explain(later, performance.now() + 1)).toBe(later);
});

const start = (backend: string, network: string[] = []): LaunchNews =>
  ({
    type: "planned",
    plan: {
      notGranted: [],
      sandbox: { backend, mode: "enforce", policy: { home: "/home/a", network, limits: {} }, missing: [] },
    },
  }) as unknown as LaunchNews;

test("reports a local address in the arguments of a failed call, also if the server does not name it", () => {
  const { onLaunch, checkResult, explain, reported } = setUp();
  onLaunch(start("bubblewrap", ["localhost:3000"]));
  const call = (...urls: string[]) => ({
    method: "tools/call",
    params: { name: "get", arguments: { urls } },
  });
  const failed = { isError: true, content: [{ type: "text", text: "fetch failed" }] };
  checkResult({ content: [{ type: "text", text: "fine" }] }, call("http://127.0.0.1:1/"));
  checkResult(
    failed,
    call("http://127.0.0.1:8080/a", "ws://[::1]:9000", "http://10.0.0.1", "redis://localhost:6379"),
  );
  checkResult(
    failed,
    call("http://localhost:3000", "https://a.example/", "postgres://localhost/a", "localhost:1"),
  );
  const explained = explain(failure("RPC_ERROR"), performance.now(), call("http://192.168.0.9:81/"));
  expect(reported.map(({ message }) => message.replace(/: the .*/, ""))).toEqual(
    ["localhost:8080", "localhost:9000", "10.0.0.1:80", "localhost:6379", "192.168.0.9:81"].map(
      (target) => `The sandbox of server "web" denied a connection to ${target}`,
    ),
  );
  expect(explained.hint).toContain("192.168.0.9:81");
});

test("reports a failed connection in the error text of the server if the sandbox does not allow the address", () => {
  const words = "connect ECONNREFUSED 127.0.0.1:5432";
  const { onLaunch, explain, checkResult, reported, forwarded } = setUp();
  onLaunch(start("bubblewrap", ["localhost:3000"]));
  const stderr = `Error: ${words}`;
  const explained = explain(new PortolanError("SERVER_START_FAILED", "m", { stderr }), 0);
  const grant = "--allow-net localhost:5432, or sandbox: { network: [localhost:3000, localhost:5432] }";
  expect(explained.hint).toContain(grant);
  checkResult({ isError: true, content: [{ type: "text", text: "connect ECONNREFUSED 10.0.0.7:80" }] });
  // The sandbox grants this address, so the connection failed for another reason.
  checkResult({ isError: true, content: [{ type: "text", text: "connect ECONNREFUSED ::1:3000" }, null, 7] });
  expect(reported.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^The sandbox of server "web" denied a connection to localhost:5432: /),
    expect.stringMatching(/^The sandbox of server "web" denied a connection to 10\.0\.0\.7:80: /),
  ]);
  expect(reported[1]?.hint).toContain("--allow-net 10.0.0.7, ");
  // No event reports the attempt itself.
  expect(forwarded.map(({ type }) => type)).toEqual(["planned"]);
});

test("reports no refused address for a server without network isolation", () => {
  const { onLaunch, checkResult, reported } = setUp();
  onLaunch(start("none"));
  checkResult({ isError: true, content: [{ type: "text", text: "connect ECONNREFUSED 127.0.0.1:5432" }] });
  expect(reported).toEqual([]);
});

test("does not explain an error by a refusal that no grant would change", () => {
  const { onLaunch, explain } = setUp();
  onLaunch(denied("*"));
  const error = failure("RPC_ERROR");
  expect(explain(error, 0)).toBe(error);
});

test("reports a hidden path of the config once, with the setting that grants it", () => {
  const { onLaunch, reported } = setUp();
  const notGranted = [
    { path: "/data/a/db", where: "args[1]" },
    { path: "/data/a/my notes", where: "env.NOTES", isNew: true },
  ];
  const planned = {
    type: "planned",
    plan: { notGranted, sandbox: { mode: "enforce", policy: { network: [] } } },
  };
  onLaunch(planned as unknown as LaunchNews);
  onLaunch(planned as unknown as LaunchNews);
  expect(reported.map(({ code, message, hint }) => [code, message, hint])).toEqual([
    [
      "SANDBOX_DENIED",
      'The sandbox of server "web" hides /data/a/db, named in args[1]: the server can neither read nor write it.',
      "Grant it with: --allow-read /data/a/db (or --allow-write, if the server also writes it), or sandbox: { fs: { read: [/data/a/db] } } in the config of the server.",
    ],
    [
      "SANDBOX_DENIED",
      'The sandbox of server "web" hides /data/a/my notes, named in env.NOTES, which does not exist yet: the server can neither read nor write it.',
      expect.stringContaining("; create /data/a/my notes first.") as string,
    ],
  ]);
});

test("reports a hidden path in the arguments of a call, and explains the error of the call", () => {
  const { onLaunch, checkResult, explain, reported } = setUp();
  const named = (path: string): object => ({
    path,
    where: "args[0]",
    ...(path.startsWith("/home") && { isPrivate: true }),
  });
  const hiddenAmong = (words: string[]): object[] =>
    words.filter((word) => !word.startsWith("/usr")).map(named);
  onLaunch({ ...start("bubblewrap"), hiddenAmong } as unknown as LaunchNews);
  const call = (path: string) => ({ method: "tools/call", params: { name: "t", arguments: { path } } });
  // A success proves access only outside of the private folders of the sandbox.
  checkResult({ content: [{ type: "text", text: "written" }] }, call("/home/a/new"));
  checkResult({ content: [] }, call("/srv/data"));
  const text =
    "EACCES: permission denied, open '/srv/b'; /usr/c; HOME is /home/a, and temporary files are in /tmp";
  checkResult({ isError: true, content: [{ type: "text", text }] }, call("/usr/c"));
  expect(reported.map(({ message }) => message)).toEqual([
    'The sandbox of server "web" hides /home/a/new, named in the arguments of a call: the server can neither read nor write it.',
    'The sandbox of server "web" hides /srv/b, named in the result of a call: the server can neither read nor write it.',
  ]);
  expect(reported.every(({ at }) => at !== undefined)).toBe(true);
  expect(explain(failure("RPC_ERROR"), performance.now(), call("/srv/data")).hint).toMatch(
    /^The sandbox hides \/srv\/data; grant it with: --allow-read \/srv\/data/,
  );
});

test("reports a rule that is not enforced once, with the reason and the setting that permits it", () => {
  const { onLaunch, reported } = setUp();
  const planned = (by: string, rule: string): LaunchNews =>
    ({
      type: "planned",
      plan: {
        notGranted: [],
        sandbox: {
          ...{ mode: "warn", by, backend: "none", policy: { network: [] } },
          missing: [{ rule, problem: "bubblewrap is not installed", remedy: "install it" }],
        },
      },
    }) as unknown as LaunchNews;
  onLaunch(planned("config", "sandbox"));
  onLaunch(planned("config", "sandbox"));
  const other = setUp();
  other.onLaunch(planned("command line", "limits.memory"));
  const option = setUp();
  option.onLaunch(planned("config", "args: --gpus all"));
  expect(option.reported[0]?.message).toBe(
    'The option --gpus all weakens the sandbox of server "web": bubblewrap is not installed. Portolan keeps the option because its config says `sandbox: warn`.',
  );
  expect([...reported, ...other.reported].map(({ message, hint }) => [message, hint])).toEqual([
    [
      'Sandbox not enforced for server "web": bubblewrap is not installed. The server runs unsandboxed because its config says `sandbox: warn`.',
      "install it",
    ],
    [
      'Sandbox rule "limits.memory" not enforced for server "web": bubblewrap is not installed. The server runs without this rule because the option sandbox (on the command line: --sandbox) sets its mode to `warn`.',
      "install it",
    ],
  ]);
});

test("every hint for a server of a config file has the command that grants the path or the host", () => {
  const [reported, events]: [Diagnostic[], PathDenial[]] = [[], []];
  const { onLaunch, checkResult, explain } = createLaunchDiagnostics(
    "web",
    (one) => reported.push(one),
    undefined,
    {
      command: "portolan grant web",
      onDeniedPath: (denied) => events.push(denied),
    },
  );
  const hiddenAmong = (words: string[]): object[] =>
    words.filter((word) => word.startsWith("/srv")).map((path) => ({ path, where: "args[0]", isNew: true }));
  const readOnlyAmong = (words: string[]): object[] =>
    words
      .filter((word) => word.startsWith("/ro"))
      .map((path) => ({ path, where: "", isReadOnly: true, grant: "/ro" }));
  const news = start("bubblewrap", ["b.test"]) as unknown as { plan: { notGranted: object[] } };
  news.plan.notGranted.push({ path: "/srv/notes", where: "args[1]" });
  onLaunch({ ...news, hiddenAmong, readOnlyAmong } as unknown as LaunchNews);
  const failed = (text: string): JsonObject => ({ isError: true, content: [{ type: "text", text }] });
  // The path that the config names is suggested, in place of a single file in it.
  const hidden = checkResult(failed("ENOENT: no such file or directory, open '/srv/notes/a.txt'"));
  expect(hidden._meta).toEqual({
    "portolan/sandbox": {
      denied: [
        {
          path: "/srv/notes/a.txt",
          access: "read",
          message: expect.stringContaining("hides /srv/notes/a.txt") as string,
          grant: "portolan grant web --read /srv/notes",
        },
      ],
    },
  });
  expect(hidden.content).toEqual([
    expect.anything(),
    {
      type: "text",
      text: expect.stringMatching(
        /hides \/srv\/notes\/a\.txt.* Grant it with: portolan grant web --read /,
      ) as string,
    },
  ]);
  // A missing path does not prove that the server cannot write it.
  expect(checkResult(failed("ENOENT: '/ro/a'"))._meta).toBeUndefined();
  checkResult(failed("EROFS: read-only file system, open '/ro/a'"));
  const fine = { content: [{ type: "text", text: "fine" }] };
  expect(checkResult(fine)).toBe(fine);
  expect(reported.map(({ hint }) => hint)).toEqual([
    "Grant it with: portolan grant web --read /srv/notes (or --write, if the server also writes it)",
    "Grant it with: portolan grant web --read /srv/notes (or --write, if the server also writes it)",
    "Grant it with: portolan grant web --write /ro",
  ]);
  expect(events.map(({ path }) => path)).toEqual(["/srv/notes", "/srv/notes/a.txt", "/ro/a"]);
  const stderr = "Error: cannot open /srv/notes/b";
  expect(explain(new PortolanError("SERVER_START_FAILED", "m", { stderr }), 0).hint).toBe(
    "The sandbox hides /srv/notes/b; grant it with: portolan grant web --read /srv/notes (or --write, if the server also writes it)",
  );
  onLaunch(denied("a.test"));
  expect(reported.at(-1)?.hint).toBe("To allow it: portolan grant web --net a.test");
});

test("suggests read access if the tool only reads or if only reading failed", () => {
  const tools: Readonly<Record<string, boolean>> = { show: true, change: false };
  const { onLaunch, checkResult, explain } = createLaunchDiagnostics("web", () => {}, undefined, {
    command: "portolan grant web",
    isReadOnlyTool: (tool) => tools[tool],
  });
  const hiddenAmong = (words: string[]): object[] =>
    words.filter((path) => path.startsWith("/srv")).map((path) => ({ path, where: "args[0]" }));
  const readOnlyAmong = (words: string[]): object[] =>
    words.filter((path) => path.startsWith("/ro")).map((path) => ({ path, where: "", isReadOnly: true }));
  onLaunch({ ...start("bubblewrap"), hiddenAmong, readOnlyAmong } as unknown as LaunchNews);
  const call = (name: string, path = "/srv/a") => ({
    method: "tools/call",
    params: { name, arguments: { path } },
  });
  const failed = (text: string): JsonObject => ({ isError: true, content: [{ type: "text", text }] });
  const grantOf = (name: string, text = "failed"): unknown =>
    (checkResult(failed(text), call(name))._meta as { "portolan/sandbox": { denied: { grant: string }[] } })[
      "portolan/sandbox"
    ].denied[0]?.grant;
  const read = "portolan grant web --read /srv/a";
  const write = "portolan grant web --write /srv/a";
  expect(grantOf("show")).toBe(read);
  expect(grantOf("change", "ENOENT: no such file or directory, scandir '/srv/a'")).toBe(write);
  expect(grantOf("other", "ENOENT: no such file or directory, scandir '/srv/a'")).toBe(read);
  expect(grantOf("other", "cannot read /srv/a")).toBe(read);
  // An open can be for writing, but read access is the smaller grant.
  expect(grantOf("other", "ENOENT: no such file or directory, open '/srv/a'")).toBe(read);
  const hint = explain(failure("RPC_ERROR"), performance.now(), call("show")).hint;
  expect(hint).toBe(
    `The sandbox hides /srv/a; grant it with: ${read} (or --write, if the server also writes it)`,
  );
  // The sandbox grants /ro for reading, so that the server can only lack the right to write.
  expect(explain(new PortolanError("RPC_ERROR", "EROFS: '/ro/a'"), 0, call("show", "x")).hint).toContain(
    "--write /ro/a",
  );
});

test("never suggests to grant the whole workspace folder", () => {
  const reported: Diagnostic[] = [];
  const { onLaunch, checkResult } = createLaunchDiagnostics("web", (one) => reported.push(one), undefined, {
    ...{ command: "portolan grant web", place: "/w/portolan.yaml:3" },
  });
  const isNew = (path: string): boolean => path.endsWith("new.txt");
  const hiddenAmong = (words: string[]): object[] =>
    words.map((path) => ({ path, where: "args[0]", ...(isNew(path) && { isNew: true, grant: "/w" }) }));
  onLaunch({ ...start("bubblewrap"), hiddenAmong } as unknown as LaunchNews);
  const deniedAt = (path: string): object[] => {
    const call = { method: "tools/call", params: { name: "t", arguments: { path } } };
    return sandboxDenials(checkResult({ isError: true, content: [] }, call));
  };
  for (const path of ["/w", "/w/new.txt"]) {
    expect(deniedAt(path)).toMatchObject([{ path }]);
    expect(deniedAt(path)[0]).not.toHaveProperty("grant");
    expect(reported.at(-1)?.hint).toMatch(/^Choose a folder in \/w that contains only files for this server/);
  }
  expect(deniedAt("/w/notes")).toMatchObject([{ grant: "portolan grant web --read /w/notes" }]);
});

test("the hint for a program lists the existing grants and the missing one", () => {
  const { onLaunch, checkResult } = createLaunchDiagnostics("web", () => {}, undefined, {
    command: IN_PROGRAM,
  });
  const hiddenAmong = (words: string[]): object[] =>
    words.map((path) => ({ path, where: "", ...(path === "/srv/denied" && { isDenied: true }) }));
  const fs = { write: ["/srv/own"], deny: ["/srv/denied"] };
  onLaunch({ ...start("bubblewrap"), hiddenAmong, fs } as unknown as LaunchNews);
  const denialsOf = (path: string): SandboxDenial[] => {
    const text = `ENOENT: no such file or directory, open '${path}'`;
    return sandboxDenials(checkResult({ isError: true, content: [{ type: "text", text }] }));
  };
  expect(denialsOf("/srv/a")).toMatchObject([
    {
      access: "read",
      grant: 'sandbox: { fs: { read: ["/srv/a"], write: ["/srv/own"], deny: ["/srv/denied"] } }',
    },
  ]);
  const [denied] = denialsOf("/srv/denied");
  expect(denied).toMatchObject({ path: "/srv/denied", message: expect.stringContaining("hides") as string });
  expect(denied?.grant).toBeUndefined();
});

test("does not report a missing script as a sandbox denial", () => {
  const [reported, events]: [Diagnostic[], PathDenial[]] = [[], []];
  const options = { onDeniedPath: (denial: PathDenial) => events.push(denial) };
  const { onLaunch } = createLaunchDiagnostics("web", (one) => reported.push(one), undefined, options);
  const news = start("bubblewrap") as unknown as { plan: { notGranted: object[] } };
  news.plan.notGranted.push({ path: "/srv/a.js", where: "args[0]", isNew: true, isScript: true });
  onLaunch(news as unknown as LaunchNews);
  expect(reported).toMatchObject([{ code: "SERVER_START_FAILED", message: expect.any(String) as string }]);
  expect(reported[0]?.message).toContain("There is no file /srv/a.js");
  expect(events).toEqual([]);
});

test("adds the hosts that were refused during a call to its failed result", () => {
  const { onLaunch, checkResult } = createLaunchDiagnostics("web", () => {}, undefined, {
    command: "portolan grant web",
  });
  onLaunch(start("bubblewrap"));
  onLaunch(denied("earlier.test"));
  const since = performance.now() + 1;
  while (performance.now() < since);
  const failed = { isError: true, content: [{ type: "text", text: "fetch failed" }] };
  const call = { method: "tools/call", params: { name: "get" } };
  expect(checkResult(failed, call, since)).toBe(failed);
  onLaunch(denied("api.test"));
  onLaunch({ ...denied("api.test"), port: 443 } as LaunchNews);
  const message = 'The sandbox of server "web" denied the host api.test: no.';
  const grant = "portolan grant web --net api.test";
  expect(checkResult(failed, call, since)).toEqual({
    isError: true,
    content: [...failed.content, { type: "text", text: `${message} Grant it with: ${grant}` }],
    _meta: { "portolan/sandbox": { denied: [{ host: "api.test", message, grant }] } },
  });
  // A named caller of a gateway cannot run the command.
  const caller = { account: "dev", clientInfo: { name: "x", version: "1" }, capabilities: {} };
  const ask = "Ask the operator of the gateway to grant access to api.test.";
  expect(checkResult(failed, { ...call, caller }, since)).toEqual({
    isError: true,
    content: [...failed.content, { type: "text", text: `${message} ${ask}` }],
    _meta: { "portolan/sandbox": { denied: [{ host: "api.test", message }] } },
  });
  const fine = { content: [{ type: "text", text: "fine" }] };
  expect(checkResult(fine, call, since)).toBe(fine);
});

test("if the server itself refuses a path, the hint names the argument to add, not only the grant", () => {
  const reported: Diagnostic[] = [];
  const command = "portolan grant files";
  const { onLaunch, checkResult } = createLaunchDiagnostics(
    ...([
      "files",
      (one: Diagnostic) => void reported.push(one),
      undefined,
      { command, place: "/w/portolan.yaml:3", isReadOnlyTool: () => false },
    ] as const),
  );
  const granted = new Set<string>();
  const hiddenAmong = (words: string[]): object[] =>
    words.flatMap((path) => (granted.has(path) ? [] : [{ path, where: "args[0]" }]));
  onLaunch({ ...start("bubblewrap"), hiddenAmong } as unknown as LaunchNews);
  const text = "Access denied - path outside allowed directories: /data/a/docs/a.md not in /data/a/notes";
  const call = { method: "tools/call", params: { name: "t", arguments: { path: "/data/a/docs/a.md" } } };
  const lastText = ({ content }: JsonObject): string | undefined =>
    (content as { text: string }[]).at(-1)?.text;
  const failed = { isError: true, content: [{ type: "text", text }] };
  const hint =
    "The server itself refuses this path, too. Add /data/a/docs to the server's arguments in /w/portolan.yaml:3, and grant it with: portolan grant files --write /data/a/docs (or --read, if the server only reads it)";
  expect(lastText(checkResult(failed, call))).toContain(hint);
  expect(reported.map((one) => one.hint)).toEqual([hint]);
  expect(sandboxDenials(checkResult(failed, call) as CallToolResult)).toMatchObject([
    { access: "write", grant: "portolan grant files --write /data/a/docs" },
  ]);
  // After the grant, another grant is not suggested.
  granted.add("/data/a/docs/a.md");
  expect(lastText(checkResult(failed, call))).toBe(
    'Server "files" itself refuses /data/a/docs/a.md: it was not started with that folder. Add /data/a/docs to the server\'s arguments in /w/portolan.yaml:3. The sandbox does not deny this path, so a sandbox grant does not help.',
  );
});

test("explains that ~ is another folder in the sandbox, and names the full path", () => {
  const { onLaunch, checkResult, explain, reported } = setUp();
  onLaunch({ ...start("bubblewrap"), hiddenAmong: () => [] } as unknown as LaunchNews);
  const call = {
    method: "tools/call",
    params: { name: "t", arguments: { path: "~/notes/a.txt", content: "~" } },
  };
  const failedWith = (text: string) => ({ isError: true, content: [{ type: "text", text }] });
  const refused = failedWith(
    "Access denied - path outside allowed directories: /home/a/notes/a.txt not in /n",
  );
  const path = join(homedir(), "notes/a.txt");
  const message = `In the sandbox of server "web", ~ is another folder (/home/a). Use the full path: ${path}`;
  expect(checkResult(refused, call)).toEqual({
    isError: true,
    content: [...refused.content, { type: "text", text: message }],
    _meta: { "portolan/sandbox": { denied: [{ path, access: "read", message }] } },
  });
  expect(explain(new PortolanError("RPC_ERROR", "ENOENT: ~/notes/a.txt"), 0, call).hint).toBe(message);
  expect(reported).toEqual([]);
  // A named caller of a gateway must not learn the operator's home.
  const caller = { account: "dev", clientInfo: { name: "x", version: "1" }, capabilities: {} };
  const told = JSON.stringify(checkResult(refused, { ...call, caller }));
  expect(told).toContain("~ is another folder (/home/a). Use the full path");
  expect(told).not.toContain(path);
  const other = failedWith("The text is too long.");
  expect(checkResult(other, call)).toBe(other);
});

test("explains a call with ~ alone, and names the missing argument of the server for a hidden path below ~", () => {
  const reported: Diagnostic[] = [];
  const report = (one: Diagnostic): void => void reported.push(one);
  const options = {
    command: "portolan grant files",
    place: "/w/portolan.yaml:3",
    isReadOnlyTool: () => true,
  };
  const { onLaunch, checkResult } = createLaunchDiagnostics("files", report, undefined, options);
  const path = join(homedir(), "private/x.txt");
  const hiddenAmong = (words: string[]): object[] =>
    words.flatMap((word) =>
      word === "~/private/x.txt" ? [{ path, where: "args[0]", isPrivate: true }] : [],
    );
  onLaunch({ ...start("bubblewrap"), hiddenAmong } as unknown as LaunchNews);
  const lines = (written: string): string[] => {
    const text = `Access denied - path outside allowed directories: ${written.replace("~", "/home/a")} not in /n`;
    const params = { name: "t", arguments: { path: written } };
    const { content } = checkResult(
      { isError: true, content: [{ type: "text", text }] },
      { method: "tools/call", params },
    );
    return ((content as { text: string }[]).at(-1)?.text ?? "").split("\n");
  };
  const tilde = 'In the sandbox of server "files", ~ is another folder (/home/a). Use the full path:';
  expect(lines("~")).toEqual([`${tilde} ${homedir()}`]);
  const [explained, denied] = lines("~/private/x.txt");
  expect(explained).toBe(`${tilde} ${path}`);
  const hint = `The server itself refuses this path, too. Add ${join(homedir(), "private")} to the server's arguments in /w/portolan.yaml:3, and grant it with: portolan grant files --read ${join(homedir(), "private")}`;
  expect(denied).toContain(hint);
  expect(reported.map((one) => one.hint?.slice(0, hint.length))).toEqual([hint]);
});
