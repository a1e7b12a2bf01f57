import { expect, it } from "vitest";
import { addServer, parseWorkspace } from "./index.ts";
import { WORKSPACE_TEMPLATE } from "./starter.ts";

it("the file of portolan init is valid, also with every example enabled", () => {
  expect(parseWorkspace(WORKSPACE_TEMPLATE, "portolan.yaml")).toMatchObject({ servers: [], diagnostics: [] });
  const all = WORKSPACE_TEMPLATE.replace(/^( *)# (?=( *)(?:- )?[a-z]+:(?: |$))/gm, "$1");
  const { servers, diagnostics, settings } = parseWorkspace(all, "portolan.yaml");
  expect(diagnostics).toEqual([]);
  expect(servers.map(({ alias }) => alias)).toEqual(["files", "github"]);
  expect(settings.gateway).toMatchObject({ port: 7420, callers: [{ name: "ci" }] });
});

it("addServer keeps the examples of the starter file", () => {
  const text = addServer(WORKSPACE_TEMPLATE, "mine", { command: "node", args: ["server.js"] });
  for (const line of WORKSPACE_TEMPLATE.split("\n")) expect(text).toContain(line);
  expect(parseWorkspace(text, "portolan.yaml").servers.map(({ alias }) => alias)).toEqual(["mine"]);
});
