// The start message of a gateway, as a person at a terminal reads it.

import { expect, it } from "vitest";
import { createColors } from "../terminal/colors.ts";
import { type Greeting, greetingText } from "./greeting.ts";

const greeting: Greeting = {
  url: "http://127.0.0.1:7420",
  settings: {},
  servers: [{ alias: "files", state: "ready", tools: 3 }],
  tags: [],
  workspaceOption: "",
  token: { value: "ptl_1", shown: false, created: false, wanted: false, command: "portolan token" },
};
const show = (connected: readonly string[]): string =>
  greetingText({ ...greeting, connected }, createColors(false), 80);

it("the start message contains config lines to copy while no client is connected", () => {
  expect(show([])).toContain("claude mcp add --transport http portolan");
  expect(show([]).replaceAll(/\s+/g, " ")).toContain("replace <token> below with it");
});

it("the start message names the connected clients in place of the config lines", () => {
  const shown = show(["Cursor", "Claude Code"]);
  expect(shown).not.toContain("claude mcp add");
  expect(shown).not.toContain("mcpServers");
  expect(shown).not.toContain("<token>");
  expect(shown.replaceAll(/\s+/g, " ")).toContain(
    "Connected clients: Cursor, Claude Code. portolan connect lists the other clients, with the command for each.",
  );
});

it("the start message has the console link in a line of its own that fits a terminal", () => {
  const console = `http://127.0.0.1:7420/#code=${"x".repeat(43)}`;
  const shown = greetingText({ ...greeting, console }, createColors(false), 80);
  expect(shown).toContain(`\n  ${console}\n`);
});

it("with callers, the start message has a placeholder for their tokens, not the gateway's token", () => {
  const token = { value: "ptl_1", shown: true, created: true, wanted: false, command: "portolan token" };
  const settings = { callers: [{ name: "alice", token: "t-1" }, { name: "dev" }] };
  const shown = greetingText({ ...greeting, token, settings }, createColors(false), undefined);
  expect(shown).toContain(
    "Callers: alice, dev. Give each person the token of their caller; the gateway's own token has all rights.",
  );
  expect(shown).toContain('--header "Authorization: Bearer <token of the caller>"');
  expect(shown).not.toContain("Bearer ptl_1");
  expect(shown).not.toContain("t-1");
});
