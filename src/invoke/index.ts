// Public face of the invoke room.

export { type InvokeOptions, openInvoked } from "./open.ts";
