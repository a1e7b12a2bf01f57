// The address of the console, by the setting and by where the gateway listens.

import { expect, it } from "vitest";
import type { GatewaySettings } from "../../model/index.ts";
import { consoleUrl } from "./greeting.ts";

it.each<[string, GatewaySettings, string | undefined]>([
  ["http://127.0.0.1:7420", {}, "http://127.0.0.1:7420"],
  ["https://localhost:7420", { console: "local" }, "https://localhost:7420"],
  ["http://0.0.0.0:7420", {}, "http://127.0.0.1:7420"],
  ["http://[::]:7420", {}, "http://127.0.0.1:7420"],
  ["http://0.0.0.0:7420", { allowedHosts: ["tools.example", "localhost"] }, "http://localhost:7420"],
  // The gateway would refuse the names of this computer.
  ["http://0.0.0.0:7420", { allowedHosts: ["tools.example"] }, undefined],
  ["http://192.0.2.7:7420", {}, undefined],
  ["http://192.0.2.7:7420", { console: "all" }, "http://192.0.2.7:7420"],
  ["http://0.0.0.0:7420", { console: "all", allowedHosts: ["tools.example"] }, "http://tools.example:7420"],
  ["http://127.0.0.1:7420", { console: "off" }, undefined],
])("the console of a gateway at %s with %j is at %s", (url, settings, expected) => {
  expect(consoleUrl(url, settings)).toBe(expected);
});
