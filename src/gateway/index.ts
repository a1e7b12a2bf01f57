// Public face of the gateway room, and the entry `portolan/gateway`.

export { type Access, type AccessOptions, createAccess, openAccess } from "./access/access-file.ts";
export { type Gateway, type GatewayOptions, openGateway } from "./gateway.ts";
