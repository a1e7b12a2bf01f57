import { afterEach, expect, test, vi } from "vitest";
import type { LoginLink } from "./login-links.ts";
import { PendingAuthorizations } from "./pending-authorizations.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Begins a login whose browser never returns. The function waits for the error that ends it. */
async function begin(pending: PendingAuthorizations): Promise<() => Promise<unknown>> {
  const start = { kind: "login", link: { server: "files" } as LoginLink, binding: "b" } as const;
  let ended: Promise<unknown> = Promise.resolve();
  await pending.begin(start, "http://localhost/back", async (openLoginPage) => {
    const page = await openLoginPage({ server: "files", redirectUri: undefined });
    ended = page.show(new URL("https://login.example/"), "state").catch((error: unknown) => error);
    await ended;
  });
  return () => ended;
}

const hint = "Repeat the call to get another link.";

test("a login that takes too long fails with TIMEOUT", async () => {
  vi.useFakeTimers();
  const ended = await begin(new PendingAuthorizations());
  await vi.advanceTimersByTimeAsync(11 * 60_000);
  expect(await ended()).toMatchObject({ code: "TIMEOUT", message: "the login at files timed out", hint });
});

test("a gateway that stops cancels its logins with an error that says so", async () => {
  const pending = new PendingAuthorizations();
  const ended = await begin(pending);
  pending.close();
  expect(await ended()).toMatchObject({
    code: "AUTH_REQUIRED",
    message: "the login at files was cancelled: the gateway stopped",
    hint,
  });
});
