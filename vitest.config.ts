// Three projects: `unit` stands beside the sources, `journeys` goes through several rooms, `slow` is for CI.
// `npm test` runs the first two in under five minutes on two cores; `npm run test:all` runs everything.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

/** Tests that take about ten seconds or more: many processes, packages to install, hostile peers or random inputs. */
const SLOW = [
  "src/**/hostile.test.ts",
  "src/**/properties.test.ts",
  "src/invoke/injection.test.ts",
  "src/openapi/scale.test.ts",
  "src/install/**/*.test.ts",
  "test/cli/basics.test.ts",
  "test/cli/completion.test.ts",
  "test/cli/connect.test.ts",
  "test/cli/drivers/*.test.ts",
  "test/cli/first-hour.test.ts",
  "test/cli/grants.test.ts",
  "test/cli/import.test.ts",
  "test/cli/install.test.ts",
  "test/cli/leftovers.test.ts",
  "test/cli/pins.test.ts",
  "test/cli/relay.test.ts",
  "test/cli/gateway-state.test.ts",
  "test/cli/operator.test.ts",
  "test/cli/running-gateway.test.ts",
  "test/cli/sandbox*.test.ts",
  "test/cli/secrets.test.ts",
  "test/cli/slow-start.test.ts",
  "test/cli/terminal.test.ts",
  "test/cli/workspace.test.ts",
  "test/console/*.test.ts",
  "test/drivers/reload.test.ts",
  "test/gateway/abuse.test.ts",
  "test/gateway/dedicated-processes.test.ts",
  "test/gateway/flood.test.ts",
  "test/gateway/interop.test.ts",
  "test/gateway/server-requests.test.ts",
  "test/packages/*.test.ts",
  "test/project/docs-commands.test.ts",
  "test/project/frameworks.test.ts",
  "test/project/package.test.ts",
  "test/registry/*.test.ts",
  "test/sandbox/containers.test.ts",
  "test/sandbox/project-commands.test.ts",
  "test/servers/faults-*.test.ts",
  "test/servers/interop.test.ts",
  "test/servers/robustness*.test.ts",
  "test/workspace/odd-configs.test.ts",
  "test/workspace/soak.test.ts",
];

/**
 * Tests beside the sources that need a process of their own.
 * The first replaces `node:fs`, which has no effect on modules that another test has already loaded;
 * the second tests a module that shares one folder within a process.
 */
const ALONE = ["src/audit/disk-failures.test.ts", "src/sandbox/egress/name-listener.test.ts"];

/** Files whose tests have passed in a run before this one, as scripts/count-reporter.mjs recorded them. */
const LEFT_OUT = process.env.TEST_LEAVE_OUT
  ? (JSON.parse(readFileSync(process.env.TEST_LEAVE_OUT, "utf8")) as { readonly files: readonly string[] })
      .files
  : [];

const config: ViteUserConfig = defineConfig({
  resolve: {
    alias: [
      {
        find: /^fast-check$/,
        replacement: fileURLToPath(new URL("test/helpers/seeded-fast-check.ts", import.meta.url)),
      },
    ],
  },
  test: {
    pool: "forks",
    // The built package is loaded as Node.js loads it.
    server: { deps: { external: [/\/dist\//] } },
    // More than the cores of a small machine: many tests wait for processes.
    maxWorkers: 4,
    // Generous, because a busy machine is no fault of the test; a test that hangs still ends.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    teardownTimeout: 10_000,
    globalSetup: ["./test/helpers/temporary-root.ts"],
    setupFiles: ["./test/helpers/setup.ts"],
    reporters: ["default", "./scripts/count-reporter.mjs"],
    projects: [
      {
        extends: true,
        // One process for many files: modules keep no state, and loading them anew for each file took half of the time.
        test: {
          name: "unit",
          include: ["src/**/*.test.ts"],
          exclude: [...SLOW, ...ALONE, ...LEFT_OUT],
          isolate: false,
        },
      },
      {
        extends: true,
        test: { name: "journeys", include: ["test/**/*.test.ts", ...ALONE], exclude: [...SLOW, ...LEFT_OUT] },
      },
      { extends: true, test: { name: "slow", include: SLOW } },
    ],
  },
});

export default config;
