// Installs the public MCP servers that are too heavy for devDependencies into .cache/interop.
// Tests use them when they are there; CI always has them.

import { installOnce } from "./lib/install-once.mjs";

console.log(installOnce("interop", { shadcn: "4.23.0", supergateway: "4.0.0" }));
