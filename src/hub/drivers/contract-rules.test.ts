import { expect, test } from "vitest";
import { binding, contract, driver, object, TEXT } from "../../../test/helpers/contracts.ts";
import type { ContractsEndpoint, ServerConfig } from "../../model/index.ts";
import { tagsOfTool } from "../member/tool-tags.ts";
import { withPaths } from "./path-arguments.ts";

const ROOT = "/w";
const PATH = { type: "string", format: "path" };
const reads = contract({
  id: "fs-read",
  inputs: object({
    path: PATH,
    also: { type: "array", items: PATH },
    more: object({ at: PATH }),
    text: TEXT,
  }),
  tags: ["files"],
  origin: { file: "/w/tools/fs-read/TOOL.md", line: 1, column: 1, format: "driver" },
});
const origin = { file: "/w/.drivers/one/DRIVER.md", line: 1, column: 1, format: "driver" };

const endpoint = (...drivers: ReturnType<typeof driver>[]): ContractsEndpoint => ({
  transport: "contracts",
  contracts: [reads],
  drivers: drivers.map((one) => ({ driver: one })),
  secrets: [],
  policy: {},
  root: ROOT,
});

test.each([
  "fs-read",
  "tools/fs-read",
  "./tools/fs-read/TOOL.md",
  "../../tools/fs-read",
  "../../tools/fs-read/TOOL.md",
])("a binding to %s adds the path arguments of the contract, under the server's names", (tool) => {
  const bound = binding({
    tool,
    mapping: { path: "file", at: { from: "$.more.at" } },
    argumentMapping: { file: "filename" },
  });
  const one = driver({
    implements: [bound],
    origin,
    launch: { sandbox: { pathArguments: { read_file: ["own"], other: ["x"] } } },
  });
  const { pathArguments } = withPaths(one, endpoint(one), undefined).sandbox ?? {};
  expect(pathArguments?.other).toEqual(["x"]);
  expect(new Set(pathArguments?.read_file)).toEqual(new Set(["own", "filename", "at", "also"]));
});

test("a contract has its own tags and the tags of all its drivers; tags of some drivers are possible tags", () => {
  const one = driver({ origin, tags: ["safe", "one"], policyTags: ["eu"] });
  const two = driver({
    id: "two-mcp",
    origin,
    tags: ["safe"],
    implements: [binding({ tool: "../../tools/fs-read" })],
  });
  const other = driver({
    id: "other-mcp",
    origin,
    tags: ["other"],
    implements: [binding({ tool: "fs-list" })],
  });
  const config: ServerConfig = {
    alias: "contracts",
    origin,
    enabled: true,
    tags: ["all"],
    endpoint: endpoint(one, two, other),
  };
  const { tags, possibleTags } = tagsOfTool(config, "fs-read");
  expect(tags).toEqual(["all", "files", "safe"]);
  expect(new Set(possibleTags)).toEqual(new Set(["files", "safe", "one", "eu"]));
  expect(tagsOfTool(config, "nothing")).toEqual({ tags: ["all"] });
});
