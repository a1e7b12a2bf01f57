// Public face of the gateway room.

export { type Access, createAccess, openAccess } from "./access/access-file.ts";
export { type Gateway, type GatewayOptions, openGateway } from "./gateway.ts";
