// Addresses of this machine itself. A public one is as much the inside as 127.0.0.1: what listens there listens for whoever is near.

import os from "node:os";
import { finalAddress } from "../../model/index.ts";

export function isOwnAddress(address: string): boolean {
  const final = finalAddress(address);
  // Asked each time: they come and go with networks.
  return Object.values(os.networkInterfaces()).some((list) =>
    list?.some((own) => finalAddress(own.address) === final),
  );
}
