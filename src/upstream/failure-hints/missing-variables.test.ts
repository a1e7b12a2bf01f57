import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { missingVariablesHint } from "./missing-variables.ts";

const hintFor = (stderr: string, command: string | undefined = "portolan grant slack"): string | undefined =>
  missingVariablesHint(new PortolanError("SERVER_START_FAILED", "m", { stderr }), command, (name) =>
    name.startsWith("GIVEN_"),
  );

test("the hint has the commands that store the variables and pass them to the server", () => {
  const hint = hintFor("Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables\n");
  expect(hint).toContain("portolan secrets set SLACK_BOT_TOKEN; portolan secrets set SLACK_TEAM_ID");
  expect(hint).toContain("env: { SLACK_BOT_TOKEN: ${SLACK_BOT_TOKEN}, SLACK_TEAM_ID: ${SLACK_TEAM_ID} }");
  expect(hint).toContain("portolan grant slack --env SLACK_BOT_TOKEN --env SLACK_TEAM_ID");
  expect(hintFor("BRAVE_API_KEY is required")).toContain("portolan secrets set BRAVE_API_KEY.");
  const either = hintFor("Error: set the variable BRAVE_API_KEY or BRAVE_API_KEY_FILE");
  expect(either).toContain("The server may need BRAVE_API_KEY, which");
  expect(hintFor("KeyError: missing 'API_TOKEN'", "")).toBe(
    "The server may need API_TOKEN, which its config does not set. Set env of the server.",
  );
});

test.each([
  "Error: code ERR_MODULE_NOT_FOUND, set a breakpoint",
  "required package was not found: MODULE_NOT_FOUND",
  "GIVEN_TOKEN is required",
  "listening with LOG_LEVEL info",
  "open /srv/MY_FILE: required",
  "",
])("there is no hint for: %s", (stderr) => {
  expect(hintFor(stderr)).toBeUndefined();
});
