// Whether a server speaks the revision of MCP that its driver was written for.

import type { Diagnostic } from "../../errors/index.ts";
import type { Driver } from "../../model/index.ts";

/**
 * A warning only: the protocol lets a server answer with another revision, and both sides know the one that was agreed. But whoever
 * wrote the driver relied on the declared one.
 */
export function revisionProblems(driver: Driver, negotiated: string): readonly Diagnostic[] {
  const { id, protocolVersion: declared, origin } = driver;
  if (declared === undefined || declared === negotiated) return [];
  return [
    {
      code: "VERSION_UNSUPPORTED",
      severity: "warning",
      server: id,
      file: origin.file,
      path: "/protocol_version",
      message: `${id}: protocol_version is ${declared}, and its server speaks ${negotiated} instead`,
      hint: `Write protocol_version: "${negotiated}" if the driver serves that too, leave it out, or update the server.`,
    },
  ];
}
