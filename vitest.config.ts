// Two projects: `unit` stands beside the sources, `journeys` goes through several rooms.

import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  resolve: {
    alias: [
      {
        find: /^fast-check$/,
        replacement: fileURLToPath(new URL("test/seeded-fast-check.ts", import.meta.url)),
      },
    ],
  },
  test: {
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    setupFiles: ["./test/setup.ts"],
    reporters: ["default", "./scripts/count-reporter.mjs"],
    projects: [
      { extends: true, test: { name: "unit", include: ["src/**/*.test.ts"] } },
      { extends: true, test: { name: "journeys", include: ["test/**/*.test.ts"] } },
    ],
  },
});

export default config;
