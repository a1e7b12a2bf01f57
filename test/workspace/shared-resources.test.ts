// Resources that several servers list.

import { expect, it } from "vitest";
import type { Diagnostic } from "../../src/errors/index.ts";
import { until } from "../helpers/connect.ts";
import { declare, type Entry, open, scripted } from "../helpers/workspace.ts";

it("resources of several servers are reported as long as several servers list them", async () => {
  const results = {
    "tools/list": { tools: [] },
    "prompts/list": { prompts: [] },
    "resources/list": { resources: [{ uri: "x://1", name: "one" }] },
    "resources/templates/list": { resourceTemplates: [{ uriTemplate: "x://{id}", name: "any" }] },
  };
  const [a, b, c] = ["a", "b", "c"].map((alias) => scripted(alias, results)) as [Entry, Entry, Entry];
  const folder = declare([a, b, c]);
  const { workspace, state } = await open(folder, { watchFiles: true });
  const shared = (): readonly Diagnostic[] =>
    workspace.diagnostics.filter(
      ({ code, message }) => code === "NAME_AMBIGUOUS" && message.includes(" list "),
    );
  await workspace.resources();
  expect(shared().map(({ message }) => message)).toEqual([
    "these resources are left out of the list because a, b and c all have them: x://1",
    "these resource templates are left out of the list because a, b and c all have them: x://{id}",
  ]);
  expect(shared().filter(({ hint }) => hint !== undefined)).toHaveLength(1);
  declare([a, b], {}, folder);
  await until(() => state("c") === undefined);
  await until(() => shared().every(({ message }) => message.includes("because a and b both have them")));
  expect(shared()).toHaveLength(2);
  declare([a], {}, folder);
  await until(() => shared().length === 0);
});
