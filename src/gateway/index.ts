// Public face of the gateway room.

export { openAccess } from "./access-file.ts";
export { type Gateway, type GatewayOptions, openGateway } from "./gateway.ts";
