// Public face of the invoke room.

export { envNames } from "./env.ts";
export { type InvokeOptions, openInvoked } from "./open.ts";
