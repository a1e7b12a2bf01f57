// A hub over declared servers: everything that its members share, in one place.

import type { ApprovalRequest, Audit, AuditEvent } from "../contracts/index.ts";
import type { Diagnostic } from "../errors/index.ts";
import type { DeclaredServer, Implementation, JsonObject, SandboxMode } from "../model/index.ts";
import { createRedactor, createSecretStore, type Redactor, type SecretStore } from "../secrets/index.ts";
import { type McpHandlers, rootFolders, toAsk, toCapabilities, VERSION } from "../client/index.ts";
import { createEraMemory } from "../upstream/index.ts";
import { approveByAsking } from "./drivers/approval.ts";
import type { Person } from "./drivers/login-page.ts";
import { EventBus, toAuditEvent } from "./events.ts";
import { Hub } from "./hub.ts";
import { withRedactedQuestions } from "./member/redact-call.ts";
import type { LeaseOptions } from "./processes/open-session.ts";
import { Member } from "./member/member.ts";
import type { MergeSettings } from "./views/merge.ts";
import { DEFAULT_NAMING } from "./views/naming.ts";
import { Pool } from "./processes/process-pool.ts";
import { createSnapshots, defaultSnapshotFolder, type Snapshots } from "./member/inventory-store.ts";

export interface HubOptions {
  readonly name?: string | undefined;
  /** How tools are called: a text with `{alias}` and `{tool}`. */
  readonly naming?: string | undefined;
  readonly descriptionPrefix?: boolean | string | undefined;
  readonly handlers?: McpHandlers | undefined;
  readonly clientInfo?: Implementation | undefined;
  /** What servers are told that their questions may be about; by default, what the handlers answer. */
  readonly capabilities?: JsonObject | undefined;
  readonly secrets?: SecretStore | undefined;
  /** Where tool lists are kept between runs; `false` keeps none. */
  readonly snapshots?: string | false | undefined;
  readonly onDiagnostic?: ((diagnostic: Diagnostic) => void) | undefined;
  /** How strictly servers are boxed, by alias, over what their declarations say. */
  readonly sandbox?: Readonly<Record<string, SandboxMode>> | undefined;
  /** Run the code that lies beside drivers, in this program and with its rights. Default: false. */
  readonly driverCode?: boolean | undefined;
  /** Whether somebody answers for themselves behind the handlers, who can approve calls that need it. Default: whether questions are answered at all. */
  readonly attended?: boolean | undefined;
  /** Who is there to log in to drivers; without anybody, a call that needs a login fails at once and says so. */
  readonly person?: Person | undefined;
}

export interface OpenedHub {
  readonly hub: Hub;
  readonly events: EventBus;
  readonly redactor: Redactor;
  /** Makes a member of a declaration; it is not started yet. `before` is whose place it takes, for as long as that matters. */
  readonly member: (declared: DeclaredServer, before?: LeaseOptions["before"]) => Member;
}

export async function openHub(options: HubOptions = {}): Promise<OpenedHub> {
  const events = new EventBus();
  const redactor = createRedactor();
  const report = (diagnostic: Diagnostic): void => options.onDiagnostic?.(redactor.redactValue(diagnostic));
  const secrets = options.secrets ?? createSecretStore({ env: process.env, report });
  const snapshots: Snapshots =
    options.snapshots === false
      ? NO_SNAPSHOTS
      : createSnapshots(options.snapshots ?? (await defaultSnapshotFolder()));
  const handlers = options.handlers ?? {};
  const hub = new Hub({
    name: options.name ?? "this workspace",
    settings: mergeSettings(options),
    events,
    report,
  });
  const asking = withRedactedQuestions(toAsk(handlers), redactor);
  const shared = {
    pool: new Pool(),
    snapshots,
    secrets,
    redactor,
    events,
    report,
    // Who wants nothing kept gets nothing kept.
    eras:
      options.snapshots === false ? { ...createEraMemory(), remember: async () => {} } : createEraMemory(),
    roots: await rootFolders(handlers),
    driverCode: options.driverCode,
    keepsNothing: options.snapshots === false,
    person: options.person,
    audit: auditTo(events),
    approve: (request: ApprovalRequest) =>
      approveByAsking(request, options.attended === false ? undefined : asking, redactor),
    ask: asking,
    caller: {
      clientInfo: options.clientInfo ?? { name: "portolan", version: VERSION },
      capabilities: options.capabilities ?? toCapabilities(handlers),
    },
    changed: (lists: Parameters<Hub["changed"]>[0]) => hub.changed(lists),
    resourceUpdated: (alias: string, uri: string) => hub.resourceUpdated(alias, uri),
    log: (alias: string, message: JsonObject) => hub.logged(alias, message),
  };
  const boxed = (declared: DeclaredServer): DeclaredServer => {
    const { sandbox = {} } = options;
    if (!Object.hasOwn(sandbox, declared.alias)) return declared;
    return { ...declared, launch: { ...declared.launch, sandboxOverride: sandbox[declared.alias] } };
  };
  const member: OpenedHub["member"] = (declared, before) =>
    new Member({ ...shared, declared: boxed(declared), before });
  return { hub, events, redactor, member };
}

function auditTo(events: EventBus): Audit {
  const audit = (event: AuditEvent): void => events.emit(toAuditEvent(event));
  return Object.defineProperty(audit, "hearsCalls", { get: () => events.hearsCalls });
}

/** The settings with what they leave open filled in. */
export function mergeSettings({
  naming,
  descriptionPrefix,
}: Pick<HubOptions, "naming" | "descriptionPrefix">): MergeSettings {
  return { naming: naming ?? DEFAULT_NAMING, descriptionPrefix: descriptionPrefix ?? false };
}

const NO_SNAPSHOTS: Snapshots = { load: async () => undefined, save: async () => {} };
