// Registers the module hooks for the code beside drivers: once, because a module is evaluated once.

import module from "node:module";
import * as hooks from "./driver-hooks.mjs";

if (typeof module.registerHooks === "function") module.registerHooks(hooks);
else module.register("./driver-hooks.mjs", import.meta.url);
