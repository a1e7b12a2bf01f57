// Public face of the gateway room.

export { type Access, createAccess, openAccess } from "./access-file.ts";
export { type Gateway, type GatewayOptions, openGateway } from "./gateway.ts";
