// Plain secrets in the command of `portolan add`: a question at a terminal, a warning elsewhere.

import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { KEYS, portolan, quoted, temporaryFolder, terminal } from "../helpers/cli.ts";
import { needs } from "../helpers/needs.ts";

const SECRET = "wk-plain-9f8e7d6c5b4a";

function place() {
  const home = temporaryFolder();
  const cwd = join(home, "work");
  mkdirSync(cwd);
  const env = { HOME: home, XDG_DATA_HOME: join(home, ".data"), XDG_RUNTIME_DIR: home };
  const file = join(cwd, "portolan.yaml");
  return {
    file,
    text: () => readFileSync(file, "utf8"),
    run: (...words: string[]) => portolan(words, { cwd, env }),
    shell: (line: string) => terminal(`cd ${quoted([cwd])}; ${line}`, 200, env),
  };
}

const ADD = [
  "add",
  "weather",
  "--env",
  `WEATHER_API_KEY=${SECRET}`,
  "--env",
  "UNITS=metric",
  "--",
  "true",
  "-x",
];
const QUESTION = "1 secret is in plain text in this command: WEATHER_API_KEY (weather).";

test("without a terminal, the secret is written as it is, with a warning", async () => {
  const { text, run } = place();
  const { code, err } = await run(...ADD, "--text");
  expect(code).toBe(0);
  expect(err).toContain("portolan secrets set WEATHER_API_KEY");
  expect(text()).toContain(SECRET);
});

describe("at a terminal", needs("a terminal"), () => {
  test("the secret is stored, and the file contains its name", async () => {
    const { text, run, shell } = place();
    // A typed passphrase starts the vault agent, which would outlive the test.
    onTestFinished(async () => void (await run("secrets", "lock")));
    const added = shell(`portolan ${quoted(ADD)}`);
    await added.shows(QUESTION);
    await added.shows("Then unlock the vault before you start the server");
    added.press(KEYS.enter);
    await added.shows("Choose a passphrase for the new vault");
    added.press(`open sesame${KEYS.enter}`);
    await added.shows("The same passphrase again");
    added.press(`open sesame${KEYS.enter}`);
    const { code, screen } = await added.done;
    expect(code).toBe(0);
    expect(screen).toContain("WEATHER_API_KEY is now in the vault. portolan.yaml contains only the name.");
    expect(screen).not.toContain("If WEATHER_API_KEY has no value yet");
    expect(text()).not.toContain(SECRET);
    expect(text()).toContain("${WEATHER_API_KEY}");
    expect(text()).toContain("UNITS: metric");
    expect(text()).toContain("-x");
  });

  test("the person can keep the secret in the file, or not add the server", async () => {
    const { file, text, shell } = place();
    const left = shell(`portolan ${quoted(ADD)}`);
    await left.shows(QUESTION);
    left.press(KEYS.down + KEYS.down + KEYS.enter);
    expect(await left.done).toMatchObject({ screen: expect.stringContaining("weather was not added") });
    expect(existsSync(file)).toBe(false);
    const kept = shell(`portolan ${quoted(ADD)}`);
    await kept.shows(QUESTION);
    kept.press(KEYS.down + KEYS.enter);
    expect((await kept.done).code).toBe(0);
    expect(text()).toContain(SECRET);
  });
});

test.each([
  [["https://api.example.com/mcp?api_key=wk-plain-9f8e7d6c5b4a"], "api_key"],
  [["https://api.example.com/mcp", "--header", `Authorization: Bearer ${SECRET}`], "Authorization"],
])("a secret of a URL is asked about, too: %j", needs("a terminal"), async (words, name) => {
  const { file, shell } = place();
  const added = shell(`portolan ${quoted(["add", "web", ...words])}`);
  await added.shows(`1 secret is in plain text in this command: ${name} (web).`);
  added.press(KEYS.ctrlC);
  expect((await added.done).code).not.toBe(0);
  expect(existsSync(file)).toBe(false);
});
