// Warnings about settings with which the next start of a gateway would fail on this computer. The computer of the gateway can have
// other files and secrets, so that these are no errors.

import { stat } from "node:fs/promises";
import { type Diagnostic, toPortolanError } from "../errors/index.ts";
import type { GatewaySettings } from "../model/index.ts";
import type { SecretStore } from "../secrets/index.ts";
import { resolveCallerTokens } from "./access/bearer-tokens.ts";
import { readPems } from "./http/server.ts";
import { resolveTelemetry } from "./telemetry/resolve-telemetry.ts";

/** Reports files of `gateway.tls` that are missing or do not match. */
export async function checkTls(tls: GatewaySettings["tls"]): Promise<Diagnostic[]> {
  if (tls === undefined) return [];
  const missing = await Promise.all(
    (["cert", "key"] as const).map(async (name): Promise<Diagnostic[]> => {
      const path = tls[name];
      if ((await stat(path).catch(() => undefined))?.isFile() === true) return [];
      const message = `there is no file ${path}, which gateway.tls.${name} names: portolan serve cannot start without it on this computer`;
      const hint = `Create the file, or correct gateway.tls.${name} in portolan.yaml.`;
      return [{ code: "FILE_FAILED", severity: "warning", message, hint }];
    }),
  );
  if (missing.flat().length > 0) return missing.flat();
  return warningOf(readPems(tls));
}

/** Reports references of the gateway's own settings that have no value now: tokens of callers, client secret, telemetry headers. */
export async function checkReferences(
  settings: GatewaySettings,
  { store, folder }: { readonly store: SecretStore; readonly folder: string },
): Promise<Diagnostic[]> {
  const found = await Promise.all([
    warningOf(resolveCallerTokens(settings, store, folder)),
    warningOf(resolveTelemetry(settings.telemetry, store, folder)),
  ]);
  // Without its passphrase, a locked vault does not show whether it has the value.
  const known = found.flat().filter(({ code }) => code !== "SECRET_STORE_FAILED");
  return known.map((one) => ({
    ...one,
    message: `${one.message.replace(/\.?$/, ".")} Until this is corrected, portolan serve cannot start on this computer`,
  }));
}

async function warningOf(check: Promise<unknown>): Promise<Diagnostic[]> {
  return check.then(
    () => [],
    (thrown: unknown) => {
      const { code, message, hint } = toPortolanError(thrown);
      return [{ code, severity: "warning", message, hint }];
    },
  );
}
