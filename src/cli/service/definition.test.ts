// Service definitions: quoting of paths, and names that never collide.

import fc from "fast-check";
import { expect, test } from "vitest";
import { launchdPlist, serviceName, systemdUnit } from "./definition.ts";

const service = {
  name: "portolan-my-project-1a2b3c4d",
  path: "/home/me/my project",
  words: ["/usr/bin/node", "/opt/portolan/main.js", "serve", "/home/me/my project", "--log-format", "text"],
  folder: "/home/me/my project",
  env: { PATH: "/usr/bin:/home/me/100%/bin" },
  log: "/home/me/log & more",
};

test("a systemd unit starts, reloads and restarts the gateway, with every word quoted", () => {
  const unit = systemdUnit(service);
  expect(unit).toContain(
    'ExecStart="/usr/bin/node" "/opt/portolan/main.js" "serve" "/home/me/my project" "--log-format" "text"\n',
  );
  expect(unit).toContain("ExecReload=/bin/kill -HUP $MAINPID\n");
  expect(unit).toContain('Environment="PATH=/usr/bin:/home/me/100%%/bin"\n');
  expect(unit).toContain("WorkingDirectory=/home/me/my project\n");
  expect(unit).toContain("Restart=on-failure\nRestartSec=5\n");
  // A config that cannot be used fails again; system units, such as network-online.target, have no effect on user units.
  expect(unit).toContain("RestartPreventExitStatus=2\n");
  expect(unit).not.toContain("network-online");
  expect(unit).toContain("WantedBy=default.target\n");
});

test("a launchd agent has the same command, and restarts only after a crash", () => {
  const plist = launchdPlist(service);
  for (const word of service.words) expect(plist).toContain(`<string>${word}</string>`);
  expect(plist).toContain("<key>SuccessfulExit</key><false/>");
  expect(plist).toContain("<key>StandardErrorPath</key><string>/home/me/log &amp; more</string>");
});

/** The words of an ExecStart line, by systemd's rules for quoted words. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word = ""]) =>
    word
      .replaceAll(/\\(.)/g, (_, char: string) => ({ n: "\n", t: "\t" })[char] ?? char)
      .replaceAll("%%", "%")
      .replaceAll("$$", "$"),
  );
}

test("any path is one argument in a systemd unit, and adds no line", () => {
  const path = fc.string({ unit: fc.constantFrom("a", " ", '"', "\\", "%", "$", "\n", "\t", "'", ";") });
  fc.assert(
    fc.property(
      fc.array(
        path.map((text) => `/${text}`),
        { minLength: 1, maxLength: 4 },
      ),
      (words) => {
        const lines = systemdUnit({ ...service, words }).split("\n");
        const starts = lines.filter((line) => line.startsWith("ExecStart="));
        expect(starts).toHaveLength(1);
        expect(wordsOf(starts[0] ?? "")).toEqual(words);
      },
    ),
  );
});

test("serviceName is readable and valid, and differs for two folders with the same name", () => {
  expect(serviceName("/home/me/My Project")).toMatch(/^portolan-my-project-[0-9a-f]{8}$/);
  expect(serviceName("/a/x")).not.toBe(serviceName("/b/x"));
  fc.assert(fc.property(fc.string(), (path) => /^[a-z0-9-]{1,70}$/.test(serviceName(path))));
});
