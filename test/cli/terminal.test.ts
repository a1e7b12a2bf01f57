// The built command at a terminal: colours, a spinner, server requests answered by keys, and Ctrl-C.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  EVERYTHING,
  envelope,
  fixture,
  KEYS,
  portolan,
  quoted,
  start,
  type Terminal,
  temporaryFolder,
  terminal,
} from "../helpers/cli.ts";
import { startHttpServer } from "../fixtures/http-server.mjs";
import { pidsWithEnv } from "../fixtures/processes.mjs";
import { started, until } from "../helpers/connect.ts";
import { needs } from "../helpers/needs.ts";

const ESCAPE = "\u001b";
const call = (target: string, ...words: string[]): string => `portolan call ${quoted([target, ...words])}`;
const widest = (screen: string): number => Math.max(...screen.split(/[\r\n]+/).map((line) => line.length));

describe("output at a terminal", needs("a terminal"), () => {
  it("has colours, except with NO_COLOR, --no-color or TERM=dumb", async () => {
    const list = `portolan list ${quoted([fixture()])}`;
    const [color, noColor, flag, dumb] = await Promise.all([
      terminal(list).done,
      terminal(list, 100, { NO_COLOR: "1" }).done,
      terminal(`${list} --no-color`).done,
      terminal(list, 100, { TERM: "dumb" }).done,
    ]);
    expect(color.code).toBe(0);
    expect(color.raw).toContain(`${ESCAPE}[36mecho${ESCAPE}[39m(text: string): string`);
    for (const plain of [noColor, flag, dumb]) {
      expect(plain.code).toBe(0);
      expect(plain.screen).toContain("function echo(text: string): string");
      expect(plain.raw).not.toMatch(/\u001b\[[\d;]*m/);
    }
  });

  it.each([60, 120])("of list fits %i columns without a broken word", async (columns) => {
    const { code, screen } = await terminal(`portolan list ${quoted([EVERYTHING])}`, columns).done;
    expect(code).toBe(0);
    expect(widest(screen)).toBeLessThanOrEqual(columns);
    const lines = screen.split(/\r?\n/);
    for (const uri of [
      "demo://resource/static/document/how-it-works.md",
      "demo://resource/dynamic/text/{resourceId}",
    ])
      expect(lines.some((line) => line.startsWith(`  ${uri}`))).toBe(true);
    expect(lines.some((line) => line.endsWith("…"))).toBe(true);
    expect(screen).toMatch(
      /function get-structured-content\(\r?\n {4}location: "New York" \| "Chicago" \| "Los Angeles",\r?\n {2}\): \{ temperature: number/,
    );
  });

  it("has a spinner on stderr, which is removed when the result arrives", async () => {
    const folder = temporaryFolder();
    const out = join(folder, "out");
    const quiet = terminal(`${call(fixture(), "slow", "ms=1500")} --quiet`);
    const shown = terminal(`${call(fixture(), "slow", "ms=1500", "every=100")} --text > ${out}`, 60);
    await shown.shows("calling slow: ");
    await shown.shows(" of 1500, working");
    const { code, raw } = await shown.done;
    expect(code).toBe(0);
    expect(readFileSync(out, "utf8")).toBe("done after 1500 ms\n");
    expect(raw.endsWith(`\r${ESCAPE}[K`)).toBe(true);
    expect((await quiet.done).raw.trim()).toBe("done after 1500 ms");
  });

  it("has readable errors that wrap between words", async () => {
    const { code, screen } = await terminal(call(fixture(), "with_header", "regin=eu", "priority=high"), 60)
      .done;
    expect(code).toBe(2);
    expect(screen).toContain("are not valid:");
    expect(screen).toContain('      - regin is not known. Did you mean "region"?');
    expect(screen).toMatch(/\r?\n hint function with_header\(region: string, priority\?:\r?\n {6}integer/);
  });

  it("has the path of the file in which an image is saved", async () => {
    const folder = temporaryFolder();
    const { code, screen } = await terminal(call(EVERYTHING, "get-tiny-image"), 100, { TMPDIR: folder }).done;
    expect(code).toBe(0);
    const path = /\[image image\/png, [\d.]+ k?B\] (\S+\.png)/.exec(screen)?.[1] ?? "";
    expect(path.startsWith(folder)).toBe(true);
    expect(existsSync(path)).toBe(true);
  });

  describe("server requests", () => {
    const answer = async (shown: Terminal, question: string, keys: string): Promise<void> => {
      await shown.shows(question);
      shown.press(keys);
    };

    it.each(["legacy", "modern"])("of a %s server show a form that the user fills in", async (era) => {
      const shown = terminal(call(fixture(`--era=${era}`), "ask_form"));
      await shown.shows("A request from ");
      await answer(shown, "Please enter name", "");
      await answer(shown, "Answer?", KEYS.enter);
      await answer(shown, "◆  name", `Ada${KEYS.enter}`);
      const { code, screen } = await shown.done;
      expect(code).toBe(0);
      expect(screen).toContain('{"action":"accept","content":{"name":"Ada"}}');
    });

    it("can be declined or cancelled; stdout has only the result", async () => {
      const folder = temporaryFolder();
      const declined = terminal(`${call(fixture(), "ask_form")} > ${join(folder, "declined")}`, 60);
      const cancelled = terminal(`${call(fixture(), "ask_form")} --text > ${join(folder, "cancelled")}`, 60);
      await answer(declined, "Answer?", `${KEYS.down}${KEYS.enter}`);
      await answer(cancelled, "Answer?", KEYS.ctrlC);
      expect((await declined.done).code).toBe(0);
      expect((await cancelled.done).code).toBe(0);
      expect(widest((await declined.done).screen)).toBeLessThanOrEqual(60);
      expect(JSON.parse(readFileSync(join(folder, "declined"), "utf8"))).toMatchObject({
        content: [{ text: '{"action":"decline"}' }],
      });
      expect(readFileSync(join(folder, "cancelled"), "utf8")).toBe('{"action":"cancel"}\n');
    });

    it("support every kind of field of server-everything", async () => {
      const shown = terminal(call(EVERYTHING, "trigger-elicitation-request"));
      await answer(shown, "Answer?", KEYS.enter);
      await answer(shown, "◆  String", `Ada${KEYS.enter}`);
      await answer(shown, "◆  Boolean", KEYS.enter);
      await answer(shown, "◆  String with default", KEYS.enter);
      await answer(shown, "◆  String with email format", `nonsense${KEYS.enter}`);
      await answer(shown, "This is not an e-mail address.", `@example.com${KEYS.enter}`);
      for (const title of [
        "String with uri format",
        "String with date format",
        "Integer",
        "Number in range",
        "Untitled Single Select",
        "Untitled Multiple Select",
        "Titled Single Select",
        "Titled Multiple Select",
        "Legacy Titled Single Select",
      ])
        await answer(shown, `◆  ${title}`, KEYS.enter);
      await answer(shown, "Send these answers?", KEYS.enter);
      const { code, screen } = await shown.done;
      expect(code).toBe(0);
      expect(screen).toContain("- Name: Ada");
      expect(screen).toContain("- Email: nonsense@example.com");
      expect(screen).toContain("- Favorite Integer: 42");
    });

    it("follow NO_COLOR; with --no-input, they are declined", async () => {
      const shown = terminal(call(fixture(), "ask_form"), 100, { NO_COLOR: "1" });
      await answer(shown, "Answer?", KEYS.escape);
      expect((await shown.done).raw).not.toMatch(/\u001b\[[\d;]*m/);
      const silent = await terminal(`${call(fixture(), "ask_form")} --no-input`).done;
      expect(silent.screen).toContain("requests input: Please enter name");
      expect(silent.screen).toContain("Portolan declined the request, because it cannot ask you here.");
      expect(silent.screen).toContain('{"action":"decline"}');
    });
  });

  it("Ctrl-C removes the spinner, reports the interruption, and exits with 130", async () => {
    const shown = terminal(`trap : INT; ${call(fixture(), "slow", "ms=60000")}; echo "code $?"`);
    await shown.shows("calling slow");
    shown.press(KEYS.ctrlC);
    const { screen, raw } = await shown.done;
    expect(screen).toContain("Cancelling. Press Ctrl-C again to quit immediately.");
    expect(screen).toMatch(/error Interrupted by SIGINT\. \[CANCELLED\]\r?\n hint [^]*code 130\r?\n$/);
    expect(raw).toContain(`\r${ESCAPE}[K${ESCAPE}[31merror`);
  });
});

describe("call without a terminal", () => {
  it.each(["legacy", "modern"])(
    "declines the requests of a %s server, and says how to answer them",
    async (era) => {
      const ran = await portolan(["call", fixture(`--era=${era}`), "ask_twice"]);
      expect(ran.code).toBe(0);
      expect(JSON.parse(ran.out)).toMatchObject({
        content: [{ text: expect.stringContaining('{"action":"decline"}') }],
      });
      expect(ran.err.match(/requests input: Please enter/g)).toHaveLength(3);
      expect(ran.err.match(/run the command at a terminal/g)).toHaveLength(1);
      expect((await portolan(["call", fixture(`--era=${era}`), "ask_form", "--quiet"])).err).toBe("");
    },
  );
});

describe("signals", () => {
  /** Finds the server processes of a run by a variable in their environment. */
  const marked = (flags: string[] = []): { words: string[]; pids: () => number[] } => {
    const tag = `cli-${process.pid}-${Math.random()}`;
    return {
      words: [fixture(...flags), "--env", `FIXTURE_TAG=${tag}`],
      pids: () => pidsWithEnv("FIXTURE_TAG", tag),
    };
  };

  it.each([
    ["SIGINT", 130, "legacy"],
    ["SIGINT", 130, "modern"],
    ["SIGTERM", 143, "legacy"],
  ] as const)("%s cancels the call at the server and exits with %i (%s)", async (signal, code, era) => {
    const server = await started(startHttpServer({ era }));
    const running = start(["call", server.url, "slow", "ms=60000"]);
    await until(() => server.stats.calls["slow"] === 1);
    running.child.kill(signal);
    const ran = await running.done;
    expect(ran.code).toBe(code);
    expect(envelope(ran)).toMatchObject({ code: "CANCELLED", message: `Interrupted by ${signal}.` });
    await until(() => server.stats.cancelled.length === 1);
  });

  it("SIGINT ends a started server, even one that ignores signals", async () => {
    const { words, pids } = marked(["--fault=stubborn"]);
    const running = start(["call", ...words, "slow", "ms=60000"]);
    await until(() => pids().length === 2);
    await pause(500);
    const since = performance.now();
    running.child.kill("SIGINT");
    expect((await running.done).code).toBe(130);
    expect(performance.now() - since).toBeLessThan(15_000);
    await until(() => pids().length === 0);
  });

  it("a second Ctrl-C exits at once, without waiting for the server", async () => {
    const { words, pids } = marked(["--fault=stubborn"]);
    const running = start(["call", ...words, "slow", "ms=60000"]);
    await until(() => pids().length === 2);
    await pause(500);
    running.child.kill("SIGINT");
    await until(() => running.err().includes("Press Ctrl-C again to quit immediately."));
    const since = performance.now();
    running.child.kill("SIGINT");
    expect((await running.done).code).toBe(130);
    expect(performance.now() - since).toBeLessThan(15_000);
    await until(() => pids().length === 0);
  });

  it("SIGINT ends a server that is still starting, without waiting for it", async () => {
    const { words, pids } = marked(["--fault=slow-start:60000"]);
    const running = start(["list", ...words]);
    await until(() => pids().length === 1);
    running.child.kill("SIGINT");
    expect(envelope(await running.done).code).toBe("CANCELLED");
    expect(running.child.exitCode).toBe(130);
    await until(() => pids().length === 0);
  });
});
