// Where a driver's server comes from, in a few words, with nothing in it that may be secret.

import type { DriverServer } from "../../model/index.ts";
import { endpointLabel } from "../output/endpoint-label.ts";

export function endpointWords(server: DriverServer): string {
  switch (server.kind) {
    case "remote":
      return endpointLabel({ transport: "http", url: server.url });
    case "npm":
      return endpointLabel({ transport: "stdio", command: server.package, args: server.args });
    case "docker":
      return endpointLabel({ transport: "stdio", command: server.image, args: server.args });
    case "binary":
      return endpointLabel({ transport: "stdio", command: server.path, args: server.args });
  }
}
