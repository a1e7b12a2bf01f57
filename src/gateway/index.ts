// Public face of the gateway room.

export { type Access, type AccessOptions, createAccess, openAccess } from "./access/access-file.ts";
export { type Gateway, type GatewayOptions, openGateway, type OpenedGateway } from "./gateway.ts";
