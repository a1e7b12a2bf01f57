// Sign-in: one-time codes that expire after five minutes, sessions that survive a restart, and cookies.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { cookieName, readCookie, sessionCookie } from "./cookie.ts";
import { Sessions } from "./sessions.ts";
import { SignIn } from "./sign-in.ts";

const KEY = Buffer.alloc(32, 1);
const TOKEN = (): string => "the-token";

function temporaryFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "portolan-sessions-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "sessions.json");
}

describe("a sign-in code", () => {
  async function setUp() {
    let time = 0;
    let current = "the-token";
    const token = (): string => current;
    const sessions = await Sessions.open({ key: KEY, token, file: undefined });
    const signIn = new SignIn({ sessions, token, now: () => time });
    const setToken = (next: string): void => void (current = next);
    return { sessions, signIn, setToken, pass: (ms: number) => (time += ms) };
  }

  it("works once", async () => {
    const { signIn, sessions } = await setUp();
    const code = signIn.createCode();
    const id = await signIn.exchange({ code }, true);
    expect(sessions.isValid(id)).toBe(true);
    expect(await signIn.exchange({ code }, true)).toBeUndefined();
  });

  it("expires after five minutes", async () => {
    const { signIn, pass } = await setUp();
    const code = signIn.createCode();
    pass(5 * 60_000);
    expect(await signIn.exchange({ code }, true)).toBeUndefined();
  });

  it("must be right: a wrong code, a wrong token, or a value that is no text is refused", async () => {
    const { signIn } = await setUp();
    signIn.createCode();
    for (const given of [
      {},
      { code: "" },
      { code: 1 },
      { token: "The-token" },
      { token: null },
      { code: "x".repeat(5_000) },
    ])
      expect(await signIn.exchange(given, true)).toBeUndefined();
    expect(await signIn.exchange({ token: " the-token\n" }, true)).toBeDefined();
    // Other programs have the token, too: from another computer, only a code signs in.
    expect(await signIn.exchange({ token: "the-token" }, false)).toBeUndefined();
    expect(await signIn.exchange({ code: signIn.createCode() }, false)).toBeDefined();
  });

  it("creates a session that ends when the gateway gets another token", async () => {
    const { signIn, sessions, setToken } = await setUp();
    const id = await signIn.exchange({ token: "the-token" }, true);
    expect(sessions.isValid(id)).toBe(true);
    setToken("another-token");
    expect(sessions.isValid(id)).toBe(false);
    expect(await signIn.exchange({ token: "the-token" }, true)).toBeUndefined();
    expect(sessions.isValid(await signIn.exchange({ token: "another-token" }, true))).toBe(true);
  });

  it("becomes invalid after twenty newer codes", async () => {
    const { signIn } = await setUp();
    const [first, ...others] = Array.from({ length: 21 }, () => signIn.createCode());
    expect(await signIn.exchange({ code: first }, true)).toBeUndefined();
    expect(await signIn.exchange({ code: others.at(-1) }, true)).toBeDefined();
  });
});

describe("a sign-in session", () => {
  it("survives a restart, and its file does not contain its id", async () => {
    const file = temporaryFile();
    const id = await (await Sessions.open({ key: KEY, token: TOKEN, file })).create();
    const later = await Sessions.open({ key: KEY, token: TOKEN, file });
    expect(later.isValid(id)).toBe(true);
    expect(readFileSync(file, "utf8")).not.toContain(id);
    expect(statSync(file).mode & 0o077).toBe(0);
    await later.end(id);
    expect(later.isValid(id)).toBe(false);
    expect((await Sessions.open({ key: KEY, token: TOKEN, file })).isValid(id)).toBe(false);
  });

  it("ends after a week, or if the key of the gateway changes", async () => {
    const file = temporaryFile();
    let now = Date.now();
    const sessions = await Sessions.open({ key: KEY, token: TOKEN, file, now: () => now });
    const id = await sessions.create();
    expect((await Sessions.open({ key: Buffer.alloc(32, 2), token: TOKEN, file })).isValid(id)).toBe(false);
    now += 7 * 24 * 60 * 60_000;
    expect(sessions.isValid(id)).toBe(false);
  });

  it("is not valid after its file is damaged, and the next sign-in replaces the file", async () => {
    const file = temporaryFile();
    for (const text of ["", "{", "[]", '{"sessions":[{"hash":1}]}']) {
      writeFileSync(file, text);
      const sessions = await Sessions.open({ key: KEY, token: TOKEN, file });
      expect(sessions.isValid("x")).toBe(false);
      expect(sessions.isValid(await sessions.create())).toBe(true);
    }
  });
});

describe("the session cookie", () => {
  it("has the port in its name, and is HttpOnly, SameSite=Strict and Secure", () => {
    expect(cookieName("127.0.0.1:7420")).toBe("portolan_7420");
    expect(cookieName("tools.example")).toBe("portolan_0");
    expect(sessionCookie("portolan_1", "id", true)).toMatch(
      /^portolan_1=id; .*HttpOnly; SameSite=Strict; .*Secure$/,
    );
  });

  it("is read only if the header contains it once", () => {
    expect(readCookie("a=1; portolan_1=x", "portolan_1")).toBe("x");
    expect(readCookie("portolan_1=x; portolan_1=y", "portolan_1")).toBeUndefined();
    expect(readCookie(undefined, "portolan_1")).toBeUndefined();
  });
});
