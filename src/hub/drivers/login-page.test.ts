// The error parameters with which a login page redirects back.

import { expect, test } from "vitest";
import { get } from "node:http";
import type { RunOptions } from "../../contracts/index.ts";
import { showLogin } from "./login-page.ts";

test.each([
  ["error_description=Try+later", "Try later"],
  ["error_description=", "server_error"],
])("showLogin fails with the error text of the login page: %s", async (query, shown) => {
  const person = {
    terminal: false,
    say: () => {},
    show: async (url: string) => {
      const back = new URL(url).searchParams.get("redirect_uri") ?? "";
      get(`${back}?error=server_error&${query}`, (response) => response.resume());
      return true;
    },
  };
  const driver = { id: "who-mcp", name: "Who" } as RunOptions["driver"];
  const { signal } = new AbortController();
  const options = { driver, signal, needsCallback: true, interactive: true } as Parameters<
    typeof showLogin
  >[2];
  expect(await showLogin(person, "https://login.example.com/in", options)).toEqual({
    ok: false,
    reason: "callback_failed",
    message: `the login page redirected back with an error: ${shown}`,
  });
});
