// Observation of a gateway: telemetry and audit log, as the settings ask for them.

import {
  auditFolders,
  type AuditLog,
  createAuditObserver,
  openAuditLog,
  syncApproved,
} from "../../audit/index.ts";
import { VERSION } from "../../client/index.ts";
import type { OpenedWorkspace } from "../../hub/index.ts";
import type { GatewaySettings } from "../../model/index.ts";
import { openTelemetry, type Telemetry } from "../../telemetry/index.ts";

export interface GatewayObservation {
  readonly telemetry: Telemetry;
  /** Undefined without the setting `audit`. */
  readonly audit: AuditLog | undefined;
  close(): Promise<void>;
}

/** Throws FILE_FAILED if the audit log cannot be written: a gateway that must be audited does not start without its log. */
export async function openObservation(
  workspace: OpenedWorkspace,
  settings: GatewaySettings,
): Promise<GatewayObservation> {
  const { calls, redactor, report, forget, events, config } = workspace;
  const redact = (text: string): string => redactor.redactText(text);
  const audit =
    settings.audit === undefined
      ? undefined
      : await openAuditLog({
          folders: await auditFolders(config.folder ?? ".", settings.audit),
          settings: settings.audit,
          report,
          forget,
        });
  const offs: (() => void)[] = [];
  if (audit !== undefined)
    offs.push(
      calls.add(createAuditObserver(audit, redact)),
      calls.onApproved((observation) => syncApproved(audit, observation, redact)),
      events.on(
        (event) => {
          if (event.type !== "gateway.refused") return;
          const { type, time, code, reason, caller, address, path, more } = event;
          audit.append({ type, time, caller, code, reason, address, path: redact(path), more });
        },
        { calls: false },
      ),
    );
  let telemetry: Telemetry;
  try {
    telemetry = await openTelemetry({
      ...{ settings: settings.telemetry, calls, report, version: VERSION },
      redact: (value) => redactor.redactValue(value),
    });
  } catch (error) {
    await audit?.close();
    throw error;
  }
  return {
    telemetry,
    audit,
    async close() {
      await telemetry.close();
      for (const off of offs) off();
      await audit?.close();
    },
  };
}
