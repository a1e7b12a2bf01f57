// Grants of secrets: no value is fetched without a grant, and both outcomes are audited.

import { describe, expect, test } from "vitest";
import { driver, secret } from "../../../test/helpers/contracts.ts";
import type { SecretGrant } from "../../model/index.ts";
import type { AuditEvent } from "../dispatch/audit.ts";
import { processKey } from "../driver/process-key.ts";
import { checkAccess, SecretGrants, type SecretSubject } from "./secret-grants.ts";

const withEnv = (env: Record<string, string>) =>
  driver({ endpoint: { transport: "stdio", command: "x", env } });

describe("a grant to a subject", () => {
  test.each<[SecretGrant, SecretSubject, string]>([
    [{ role: "admin" }, { roles: ["admin"] }, "role:admin"],
    [{ userId: "ann" }, { userId: "ann" }, "userId:ann"],
    [{ cap: "cap://pay" }, { capabilities: ["cap://pay"] }, "cap:cap://pay"],
    [{ tool: "fs-read" }, { tool: "fs-read" }, "tool:fs-read"],
    [{ workflow: "nightly" }, { workflow: "nightly" }, "workflow:nightly"],
  ])("allows the granted operation only: %j", (grant, subject, by) => {
    const entry = secret({ access: { reveal: [], bind: [{ role: "nobody" }, grant], rotate: [] } });
    expect(checkAccess(entry, "bind", subject)).toEqual({ granted: true, grantedBy: by });
    expect(checkAccess(entry, "bind", {}).granted).toBe(false);
    expect(checkAccess(entry, "reveal", subject)).toEqual({
      granted: false,
      reason: expect.stringContaining("no grant allows") as string,
    });
  });
});

function grants(bind: SecretGrant[]): { grants: SecretGrants; fetched: string[]; events: AuditEvent[] } {
  const fetched: string[] = [];
  const events: AuditEvent[] = [];
  const entries = [
    secret({ slug: "api-key", access: { reveal: [{ role: "admin" }], bind, rotate: [] } }),
    secret({
      slug: "db/url",
      envNames: ["DATABASE_URL"],
      access: { reveal: [], bind: [{ tool: "fs-read" }], rotate: [] },
    }),
  ];
  const fetch = async ({ slug }: { slug: string }): Promise<string | undefined> => {
    fetched.push(slug);
    return slug === "api-key" ? "s3cret" : undefined;
  };
  return { grants: new SecretGrants(entries, fetch, (event) => events.push(event)), fetched, events };
}

test("finds the secret of a variable by its name, by a binding and by its slug", () => {
  const { grants: all } = grants([]);
  expect(all.find("API_KEY")?.slug).toBe("api-key");
  expect(all.find("api-key")?.slug).toBe("api-key");
  expect(all.find("DATABASE_URL")?.slug).toBe("db/url");
  expect(all.find("OTHER")).toBeUndefined();
});

test("fetches a secret that is granted to the called tool, and audits it without its value (D10)", async () => {
  const { grants: all, events } = grants([{ tool: "fs-read" }]);
  const values = await all.bind(withEnv({ KEY: "Bearer ${secrets.API_KEY}", PLAIN: "x" }), "fs-read", {
    userId: "ann",
  });
  expect([...values]).toEqual([["API_KEY", "s3cret"]]);
  expect(events).toMatchObject([
    {
      type: "secret.reveal",
      slug: "api-key",
      operation: "bind",
      granted_by: "tool:fs-read",
      tool: "fs-read",
      user: "ann",
      driver: "files-mcp",
    },
  ]);
  expect(JSON.stringify(events)).not.toContain("s3cret");
});

test("fetches no secret at all if one of the secrets is not granted", async () => {
  const { grants: all, fetched, events } = grants([{ tool: "other" }]);
  const both = withEnv({ A: "${secrets.DATABASE_URL}", B: "${secrets.API_KEY}" });
  await expect(all.bind(both, "fs-read", {})).rejects.toMatchObject({ error: { code: "unauthorised" } });
  expect(fetched).toEqual([]);
  expect(events).toMatchObject([
    {
      type: "secret.reveal.denied",
      slug: "api-key",
      reason: expect.stringContaining("only tool:other may bind") as string,
    },
  ]);
  expect(() => all.requireBind(both, "fs-read", {})).toThrow(/SECRETS\.md/);
});

test("refuses a secret without an entry in a SECRETS.md", () => {
  const { grants: all } = grants([]);
  expect(() => all.requireBind(withEnv({ A: "${secrets.NEW_KEY}" }), "fs-read", {})).toThrow(
    /no SECRETS\.md has a valid entry for NEW_KEY \(slug: new-key\)/,
  );
  expect(() => all.requireBind(withEnv({ A: "plain" }), "fs-read", {})).not.toThrow();
});

test("refuses a secret that another driver declares, whatever its grants", async () => {
  const entry = secret({
    driver: "other-mcp",
    access: { reveal: [], bind: [{ tool: "fs-read" }], rotate: [] },
  });
  const all = new SecretGrants([entry], async () => "s3cret");
  const mine = withEnv({ A: "${secrets.API_KEY}" });
  await expect(all.bind(mine, "fs-read", {})).rejects.toThrow(
    /The entry in the SECRETS\.md of the driver other-mcp applies to other-mcp only; to share the secret, move the entry to \.secrets\/SECRETS\.md/,
  );
  expect(all.denial(mine, "fs-read", {})).toMatchObject({ code: "unauthorised" });
  expect((await all.bind({ ...mine, id: "other-mcp" }, "fs-read", {})).size).toBe(1);
});

test("a secret without a value fails with SECRET_MISSING", async () => {
  const { grants: all } = grants([]);
  await expect(all.bind(withEnv({ A: "${secrets.DATABASE_URL}" }), "fs-read", {})).rejects.toMatchObject({
    code: "SECRET_MISSING",
  });
});

test("reveals a secret only to callers with a reveal grant", async () => {
  const { grants: all } = grants([{ tool: "fs-read" }]);
  expect(await all.reveal("API_KEY", { roles: ["admin"] })).toBe("s3cret");
  await expect(all.reveal("API_KEY", { tool: "fs-read" })).rejects.toMatchObject({
    error: { code: "unauthorised" },
  });
});

test("a process with secrets belongs to one user, and a process without secrets is shared (D6)", () => {
  const own = withEnv({ A: "${secrets.API_KEY}" });
  expect(processKey(own, { userId: "ann" })).not.toBe(processKey(own, { userId: "bob" }));
  expect(processKey(own, { userId: "ann", workspaceId: "w" })).not.toBe(processKey(own, { userId: "ann" }));
  expect(processKey(driver(), { userId: "ann" })).toBe(processKey(driver(), { userId: "bob" }));
  expect(processKey(driver(), {})).not.toBe(processKey(driver({ version: "2.0.0" }), {}));
});
