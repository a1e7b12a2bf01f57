import { describe, expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { type DeviceCode, requestByDeviceCode } from "./device-code.ts";
import { GrantRefused, type TokenEndpoint } from "./token-endpoint.ts";

const ISSUER = "https://issuer.example.com";
const CODE = {
  ...{ device_code: "device", user_code: "WDJB-MJHT", verification_uri: `${ISSUER}/device` },
  ...{ expires_in: 600, interval: 1 },
};
const TOKENS = { access_token: "access", token_type: "Bearer", expires_in: 60 };

type Answer = readonly [number, object] | "outage";

/** Runs a login whose authorization server answers like this. */
async function logIn(answers: readonly Answer[], code: Answer = [200, CODE]) {
  const left = [...answers];
  const waits: number[] = [];
  const shown: DeviceCode[] = [];
  const endpoint: TokenEndpoint = {
    server: "notes",
    authorizationServer: {
      ...{ issuer: ISSUER, token_endpoint: `${ISSUER}/token` },
      device_authorization_endpoint: `${ISSUER}/device-code`,
    },
    client: { clientId: "client", authMethod: "none" },
    http: {
      get: () => Promise.reject(new Error("not used")),
      fetch: async (_input, init) => {
        const isToken = new URLSearchParams(init?.body as string).has("grant_type");
        const answer = isToken ? left.shift() : code;
        if (answer === undefined || answer === "outage")
          return Response.json({ error: "server_error" }, { status: 503 });
        return Response.json(answer[1], { status: answer[0] });
      },
    },
  };
  const tokens = requestByDeviceCode(endpoint, {
    ...{ scope: "use", resource: "https://notes.example.com/mcp" },
    show: (one) => void shown.push(one),
    wait: async (ms) => void waits.push(Math.round(ms / 1_000)),
  });
  return { outcome: await tokens.catch((error: unknown) => error), waits, shown };
}

const error = (name: string): Answer => [400, { error: name }];

describe("the device code grant", () => {
  test("waits for the interval of the server, and longer after slow_down or an outage", async () => {
    const { outcome, waits, shown } = await logIn([
      error("authorization_pending"),
      error("slow_down"),
      error("authorization_pending"),
      "outage",
      [200, TOKENS],
    ]);
    expect(outcome).toMatchObject({ accessToken: "access" });
    expect(waits).toEqual([1, 1, 6, 6, 12]);
    expect(shown).toMatchObject([{ server: "notes", userCode: "WDJB-MJHT" }]);
  });

  test.each([
    ["access_denied", "AUTH_FAILED", "the login was denied, by the person or by the authorization server"],
    ["expired_token", "TIMEOUT", "the login timed out: nobody entered the code in a browser"],
    ["invalid_grant", "AUTH_FAILED", "refused to issue a token: invalid_grant"],
  ])("ends with %s", async (name, code, message) => {
    const { outcome } = await logIn([error("authorization_pending"), error(name)]);
    expect(outcome).toBeInstanceOf(PortolanError);
    expect(outcome).toMatchObject({ code, message: expect.stringContaining(message) as string });
  });

  test("ends with a timeout when the code has expired", async () => {
    const { outcome } = await logIn([], [200, { ...CODE, expires_in: 0.001 }]);
    expect(outcome).toMatchObject({ code: "TIMEOUT" });
  });

  test.each([
    ["is not encrypted", { ...CODE, verification_uri: "http://example.com/device" }],
    ["is no web page", { ...CODE, verification_uri: "file:///etc/passwd" }],
    ["is very long", { ...CODE, user_code: "x".repeat(10_000) }],
  ])("shows no code or URL that %s", async (_name, code) => {
    const { outcome, shown } = await logIn([[200, TOKENS]], [200, code]);
    expect(outcome).toMatchObject({ code: "AUTH_FAILED" });
    expect(shown).toEqual([]);
  });

  test("throws GrantRefused if the client may not use this grant", async () => {
    const { outcome } = await logIn([], [400, { error: "unauthorized_client" }]);
    expect(outcome).toBeInstanceOf(GrantRefused);
  });
});
