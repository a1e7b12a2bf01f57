// Commands that the console shows and copies: each works in every folder.

import { expect, test } from "vitest";
import { asCode, asCommand, asCurl } from "../../console/src/calls/copy-as.ts";
import { inWorkspace } from "../../console/src/ui/workspace-option.ts";

test("a shown command names the workspace, before the command of a server", () => {
  expect(inWorkspace("portolan why files", "/w")).toBe("portolan why files -w /w");
  expect(inWorkspace("portolan add files -- npx -y s .", "/w")).toBe(
    "portolan add files -w /w -- npx -y s .",
  );
  expect(inWorkspace("portolan why files", "/my $& notes")).toBe("portolan why files -w '/my $& notes'");
  expect(inWorkspace("portolan grant a -w /w/portolan.yaml --net b", "/w")).toBe(
    "portolan grant a -w /w/portolan.yaml --net b",
  );
  expect(inWorkspace("portolan console", undefined)).toBe("portolan console");
  expect(inWorkspace("curl example.com", "/w")).toBe("curl example.com");
});

test("a copied call names the workspace", () => {
  const call = { name: "mcp_files_read", server: "files", own: "read", workspace: "/my notes" };
  expect(asCommand({ ...call, input: { path: "a -w b -- c" } })).toBe(
    "portolan call files.read -w '/my notes' 'path=a -w b -- c'",
  );
  expect(asCommand({ ...call, input: { list: [1] } })).toBe(
    `echo '{"list":[1]}' | portolan call files.read -w '/my notes' --args -`,
  );
  expect(asCode({ ...call, input: {} })).toContain('openWorkspace("/my notes")');
  expect(asCurl({ ...call, input: {} }, "http://h")).toContain("$(portolan token -w '/my notes')");
});
