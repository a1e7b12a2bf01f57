// The registry from a publisher's and a user's side: real processes, from publishing to unpublishing, and a hostile index.

import { createHash } from "node:crypto";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { envelope, portolan, type Ran, temporaryFolder } from "../helpers/cli.ts";
import { type Loose, packageDocument, startRegistry } from "../helpers/registry.ts";

const NAME = "@alice/github-mcp";
const json = (ran: Ran): Loose => {
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return JSON.parse(ran.out) as Loose;
};
const version = (number: string, change: (document: Loose) => void = () => {}): Loose =>
  packageDocument((document) => {
    document["version"] = number;
    change(document);
  });

it("a package is published, found, deprecated, unpublished, and its advisory is shown", async () => {
  const registry = await startRegistry();
  const { run, publish } = registry;
  const bytes = Buffer.from("the program");
  writeFileSync(join(registry.folder, "program.tgz"), bytes);
  const hash = `sha256-${createHash("sha256").update(bytes).digest("base64")}`;
  const withFile = version("1.0.0", (document) => {
    document["source"].hash = hash;
    document["source"].size = bytes.length;
    document["metadata"].downloads = 1_000_000;
    delete document["metadata"].publishedAt;
  });

  expect(json(await publish(withFile, "--file", "program.tgz"))).toMatchObject({
    name: NAME,
    version: "1.0.0",
    tags: { latest: "1.0.0" },
    files: [hash],
  });
  expect(envelope(await publish(withFile))).toMatchObject({
    code: "INPUT_INVALID",
    message: `${NAME}@1.0.0 was published before.`,
  });
  expect(json(await publish(version("1.1.0-rc.1"), "--tag", "beta"))["tags"]).toEqual({
    latest: "1.0.0",
    beta: "1.1.0-rc.1",
  });
  expect(json(await publish(version("1.2.0")))["tags"]["latest"]).toBe("1.2.0");
  expect(json(await publish(version("1.0.1")))["tags"]["latest"]).toBe("1.2.0");

  expect(json(await run("search", "github"))["results"]).toMatchObject([{ name: NAME, version: "1.2.0" }]);
  expect(json(await run("search", "nothing"))["results"]).toEqual([]);
  const info = json(await run("info", `${NAME}@~1.0`));
  expect(info).toMatchObject({ name: NAME, version: "1.0.1", tags: { beta: "1.1.0-rc.1" } });
  const first = json(await run("info", `${NAME}@1.0.0`));
  expect(first["metadata"].metadata.downloads).toBeUndefined();
  const hosted = await fetch(first["files"][hash] as string);
  expect(Buffer.from(await hosted.arrayBuffer())).toEqual(bytes);
  expect(envelope(await run("info", `${NAME}@^9`)).code).toBe("PACKAGE_NOT_FOUND");
  expect(envelope(await run("info", "@alice/github-mpc")).hint).toContain(NAME);

  expect(json(await run("deprecate", `${NAME}@<1.2`, "Use 1.2."))["changed"]).toEqual(["1.0.0", "1.0.1"]);
  const versions = json(await run("versions", NAME));
  expect(versions["versions"]["1.0.0"]).toMatchObject({ status: "deprecated", message: "Use 1.2." });
  expect(versions["latest"]).toBe("1.2.0");

  const advisory = { id: "MLLD-2026-0001", title: "Leak", severity: "high", summary: "Tokens leak." };
  writeFileSync(
    join(registry.folder, "advisory.json"),
    JSON.stringify({ ...advisory, affected: { [NAME]: { versions: ["<1.2"] } } }),
  );
  expect(json(await run("advisories", "--publish", "advisory.json"))).toMatchObject(advisory);
  expect(json(await run("advisories", `${NAME}@1.0.0`))["advisories"]).toMatchObject([advisory]);
  expect(json(await run("advisories", `${NAME}@1.2.0`))["advisories"]).toEqual([]);
  expect(json(await run("info", `${NAME}@1.0.1`))["advisories"]).toMatchObject([advisory]);

  expect(json(await run("unpublish", `${NAME}@1.0.0`, "Broken."))["changed"]).toEqual(["1.0.0"]);
  expect((await fetch(first["files"][hash] as string)).status).toBe(404);
  expect(envelope(await run("info", `${NAME}@1.0.0`)).message).toContain("was unpublished: Broken.");
  expect(envelope(await publish(withFile)).message).toContain("and unpublished");
  expect(json(await run("unpublish", NAME, "--all"))["changed"]).toHaveLength(3);
  expect(json(await run("search", "github"))["results"]).toEqual([]);
});

it("a wrong package is refused with all its errors, and a foreign scope and a wrong token are refused", async () => {
  const { publish, run, folder, url } = await startRegistry();
  const wrong = envelope(
    await publish(
      version("one", (document) => {
        document["source"].hash = "sha256-abc123...";
        delete document["security"].audit;
      }),
    ),
  );
  expect(wrong.code).toBe("FILE_INVALID");
  expect(wrong.message.split("\n")).toHaveLength(4);
  expect(wrong.message).toMatch(/package\.json:\d+:\d+ version "one" is not a version/);
  const foreign = envelope(await publish(version("1.0.0", (document) => (document["name"] = "@bob/x-mcp"))));
  expect(foreign.code).toBe("FORBIDDEN");
  expect(envelope(await run("publish", "package.json", "--token", "ptr_wrong")).code).toBe("AUTH_REQUIRED");
  writeFileSync(join(folder, "other.bin"), "other");
  expect(envelope(await publish(version("1.0.0"), "--file", "other.bin")).code).toBe("INPUT_INVALID");
  const upload = await fetch(`${url}/api/files/sha256-${"0".repeat(64)}`, { method: "PUT", body: "x" });
  expect(upload.status).toBe(401);
});

it("the token is shown on a terminal only", async () => {
  const folder = temporaryFolder();
  const refused = await portolan(["registry", "token", "add", "alice", "--folder", folder, "--json"]);
  expect(envelope(refused).message).toContain("No token was created: stdout is not a terminal");
  expect(() => readFileSync(join(folder, "private", "tokens.json"))).toThrow();
});

it("operator commands print JSON in a pipe, and text with --text", async () => {
  const folder = temporaryFolder();
  const run = (...words: string[]): Promise<Ran> => portolan(["registry", ...words, "--folder", folder]);
  const { id } = json(await run("token", "add", "alice", "--show", "--json"));
  expect(json(await run("token", "list"))).toMatchObject({ tokens: [{ id, scope: "alice" }] });
  expect((await run("token", "list", "--text")).out).toMatch(new RegExp(`^${String(id)} +@alice `));
  expect(json(await run("token", "rm", String(id)))).toEqual({ removed: id });
  expect(json(await run("sign"))).toMatchObject({ sequence: expect.any(Number) as number });
  const forgotten = await portolan(["registry", "forget", "http://127.0.0.1:1"]);
  expect(json(forgotten)).toEqual({
    registry: expect.stringContaining("127.0.0.1:1") as string,
    removed: false,
  });
});

it("a tampered, rolled-back or foreign index is refused, and a static copy works", async () => {
  const registry = await startRegistry();
  const copy = join(registry.folder, "copy");
  const index = join(copy, "index.jsonl");
  const copyNow = (): void => cpSync(join(registry.registry, "public"), copy, { recursive: true });
  const read = (): Promise<Ran> => registry.run("info", NAME, "--registry", copy);
  json(await registry.publish(version("1.0.0")));
  copyNow();
  const old = readFileSync(index);
  expect(json(await read())["version"]).toBe("1.0.0");

  json(await registry.publish(version("1.1.0")));
  copyNow();
  expect(json(await read())["version"]).toBe("1.1.0");
  const good = readFileSync(index);

  writeFileSync(index, old);
  expect(envelope(await read())).toMatchObject({
    code: "FORBIDDEN",
    message: expect.stringContaining("rolled back") as string,
  });

  const text = good.toString("utf8");
  writeFileSync(index, text.replace('"latest":"1.1.0"', '"latest":"1.0.0"'));
  expect(envelope(await read()).message).toContain("signature");

  const other = await startRegistry();
  json(await other.publish(version("3.0.0")));
  cpSync(join(other.registry, "public"), copy, { recursive: true });
  expect(envelope(await read()).message).toContain("is signed with the key");

  writeFileSync(index, good);
  const { integrity } = json(await registry.run("versions", NAME))["versions"]["1.1.0"] as {
    integrity: string;
  };
  const name = `sha256-${Buffer.from(integrity.slice("sha256-".length), "base64").toString("hex")}.json`;
  const file = join(copy, "versions", name);
  writeFileSync(file, readFileSync(file, "utf8").replace("network", "process"));
  expect(envelope(await read()).message).toContain("its hash differs");

  json(await registry.publish(version("1.2.0")));
  copyNow();
  expect(json(await read())["version"]).toBe("1.2.0");
});
