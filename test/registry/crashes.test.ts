// Two publishers at once, and a registry that is killed while it publishes: no version is lost, doubled or half written.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../src/registry/index.ts";
import { temporaryFolder } from "../helpers/cli.ts";
import { packageDocument, startRegistry, type TestRegistry } from "../helpers/registry.ts";

const ROUNDS = 12;
const NAME = "@alice/github-mcp";

function send({ url, token }: TestRegistry, version: string): Promise<number> {
  return fetch(`${url}/api/registry/${encodeURIComponent(NAME)}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(packageDocument((document) => (document["version"] = version))),
  }).then(
    ({ status }) => status,
    () => 0,
  );
}

it("of several publishers of one version, only one succeeds, also with two registry processes", async () => {
  const folder = temporaryFolder();
  const [one, two] = [await startRegistry(folder), await startRegistry(folder)];
  for (const version of ["1.0.0", "1.0.1", "1.0.2"]) {
    const statuses = await Promise.all([one, two, one, two].map((registry) => send(registry, version)));
    expect(statuses.sort((a, b) => a - b)).toEqual([201, 409, 409, 409]);
  }
});

it("a killed registry loses no version that it confirmed, and starts again", async () => {
  const folder = temporaryFolder();
  const confirmed: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const registry = await startRegistry(folder);
    const versions = Array.from({ length: 40 }, (_, index) => `1.${round}.${index}`);
    let isKilled = false;
    const sending = (async () => {
      for (const version of versions) {
        if (isKilled) return;
        if ((await send(registry, version)) === 201) confirmed.push(version);
        // The kill hits another moment of the next write in each round.
        if (confirmed.length >= (round + 1) * 2 && !isKilled) {
          isKilled = true;
          setTimeout(() => registry.running.child.kill("SIGKILL"), round % 6);
          void send(registry, `2.${round}.0`).then((status) => {
            if (status === 201) confirmed.push(`2.${round}.0`);
          });
        }
      }
    })();
    await Promise.all([sending, registry.running.done]);
  }
  const store = await openStore(join(folder, "registry"));
  const { index } = await store.read();
  const versions = index.packages[NAME]?.versions ?? {};
  expect(confirmed.length).toBeGreaterThanOrEqual(ROUNDS * 2);
  expect(confirmed.filter((version) => versions[version] === undefined)).toEqual([]);
  for (const { integrity } of Object.values(versions)) await store.readVersion(integrity);
  await store.publish(JSON.stringify(packageDocument((document) => (document["version"] = "9.0.0"))), {});
  // A killed process may leave its request for the lock; the next writer removes it after a minute.
  const left = readdirSync(store.layout.public).filter(
    (name) => !/^index\.jsonl\.lock\.[\w-]+\.tmp$/.test(name),
  );
  expect(left.sort()).toEqual(["files", "index.jsonl", "versions"]);
  await store.close();
});
