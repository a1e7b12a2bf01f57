// Build of the console's page. The gateway serves the result; no request leaves the host.

import { defineConfig, type UserConfig } from "vite";

const config: UserConfig = defineConfig({
  root: import.meta.dirname,
  base: "/",
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

export default config;
