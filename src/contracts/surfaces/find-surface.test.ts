import { expect, test } from "vitest";
import { driver } from "../../../test/helpers/contracts.ts";
import { findResource, type OfferedResource } from "./find-surface.ts";

const offered = [
  {
    declared: { uriTemplate: "files://pub/{path}", integrateAs: "ref_kind", refKindId: "mcp_files" },
    registered: { driver: driver() },
  },
] as unknown as OfferedResource[];

test.each(["a", "a/b.txt", "a..b/.hidden", "...", "a%20b"])(
  "findResource accepts %s below the template",
  (path) => {
    expect(findResource(`mcp_files:files://pub/${path}`, offered).uri).toBe(`files://pub/${path}`);
  },
);

test.each([
  ...["..", "../x", "a/../../x", "a/./x", "a/..", "..\\x", "%2e%2e/x", ".%2E/x", "%252e%252e/x"],
  ...["a%2fb", "..%2Fx", "a%5Cb", "a%252fb"],
])("findResource refuses %s, which leaves the folder of the template", (path) => {
  expect(() => findResource(`mcp_files:files://pub/${path}`, offered)).toThrow("is not of the form");
});
