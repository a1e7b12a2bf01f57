// Opens a hub, and creates the objects that its members share.

import type { ApprovalRequest, Audit, AuditEvent } from "../contracts/index.ts";
import type { Diagnostic } from "../errors/index.ts";
import type { LaunchContext } from "../launch/index.ts";
import {
  DEFAULT_NAMING,
  type ServerConfig,
  type Implementation,
  type JsonObject,
  type SandboxMode,
} from "../model/index.ts";
import { createLoginStore, type CredentialStore } from "../oauth/index.ts";
import { createRedactor, createSecretStore, type Redactor, type SecretStore } from "../secrets/index.ts";
import {
  type McpHandlers,
  rootFolders,
  toServerRequestHandler,
  toCapabilities,
  VERSION,
} from "../client/index.ts";
import { CallObservers } from "../telemetry/index.ts";
import { createEraMemory } from "../upstream/index.ts";
import { approveByElicitation } from "./drivers/approval.ts";
import type { Person } from "./drivers/login-page.ts";
import { EventBus, toAuditEvent } from "./events.ts";
import { Hub, type HubSettings } from "./hub.ts";
import { redactServerRequests } from "./member/redact-call.ts";
import type { ServerContext } from "./processes/open-server-session.ts";
import { Member } from "./member/member.ts";
import { StderrLogs } from "./member/stderr-log.ts";
import type { MergeSettings } from "./views/merge.ts";
import { DriverPins } from "./pins/driver-pins.ts";
import { PinBook } from "./pins/pin-book.ts";
import { ProcessPool } from "./processes/process-pool.ts";
import {
  createInventoryStore,
  defaultInventoryFolder,
  type InventoryStore,
} from "./member/inventory-store.ts";

export interface HubOptions {
  readonly name?: string;
  /** Template of tool names, with `{alias}` and `{tool}`. */
  readonly naming?: string;
  readonly descriptionPrefix?: boolean | string;
  readonly handlers?: McpHandlers;
  /** The folders of `handlers.roots`. Default: they are read from the handlers. */
  readonly roots?: readonly string[];
  readonly clientInfo?: Implementation;
  /** The client capabilities that are declared to servers; by default those of the handlers. */
  readonly capabilities?: JsonObject;
  readonly secrets?: SecretStore;
  /** True for a gateway: each of its callers has an own login at servers with `per_caller`. */
  readonly servesCallers?: boolean;
  /** True when a program opened the hub: no command shows the output of its servers. */
  readonly ofProgram?: boolean;
  /** Logins at servers behind OAuth. Default: those of this user. */
  readonly logins?: CredentialStore;
  /** State of the starts of its servers. Default: one of its own. */
  readonly launchContext?: LaunchContext;
  /** The folder for tool lists between runs; `false` stores none. */
  readonly snapshots?: string | false;
  readonly onDiagnostic?: (diagnostic: Diagnostic) => void;
  /** Forgets reported diagnostics whose cause is gone. */
  readonly forget?: HubSettings["forget"];
  /** Sandbox modes by alias, which override the config files. */
  readonly sandbox?: Readonly<Record<string, SandboxMode>>;
  /** Run the code beside drivers, in this program and with its rights. Default: false. */
  readonly driverCode?: boolean;
  /** True when a person behind the handlers can approve calls. Default: true. */
  readonly attended?: boolean;
  /** Compute the hashes of all tools, for `pins()`. Default: only of servers that are compared with the lock file. */
  readonly hashesTools?: boolean;
  /** The person who can log in to drivers. Without one, a call that needs a login fails at once. */
  readonly person?: Person;
}

export interface OpenedHub {
  readonly hub: Hub;
  readonly events: EventBus;
  readonly redactor: Redactor;
  readonly pinBook: PinBook;
  readonly driverPins: DriverPins;
  readonly stderrLogs: StderrLogs;
  /** Observers of calls: metrics, traces, the audit log, the console. */
  readonly calls: CallObservers;
  /**
   * Creates a member from a server config; it is not started yet. `before` gives the contracts that it takes over from. A member
   * with a `restart` shares no process with members that have another one.
   */
  readonly member: (config: ServerConfig, before?: ServerContext["before"], restart?: number) => Member;
}

/** For a program that opens a workspace without a handler. */
const ELICIT_HINT =
  'Pass handlers.elicit to openWorkspace(): Portolan asks this handler, and the answer { action: "accept", content: { allow: true } } approves the call.';

export async function openHub(options: HubOptions = {}): Promise<OpenedHub> {
  const calls = new CallObservers();
  const redactor = createRedactor();
  const report = (diagnostic: Diagnostic): void => options.onDiagnostic?.(redactor.redactValue(diagnostic));
  const events = new EventBus(report);
  const secrets = options.secrets ?? createSecretStore({ env: process.env, report });
  const logins = options.logins ?? createLoginStore({ report });
  const inventoryStore: InventoryStore =
    options.snapshots === false
      ? NO_STORE
      : createInventoryStore(options.snapshots ?? (await defaultInventoryFolder()));
  const handlers = options.handlers ?? {};
  const hub = new Hub({
    name: options.name ?? "this workspace",
    settings: mergeSettings(options),
    events,
    report,
    forget: options.forget,
  });
  const pinBook = new PinBook({
    report,
    hashesAll: options.hashesTools,
    storesNothing: options.snapshots === false,
  });
  const driverPins = new DriverPins(pinBook, events);
  const stderrLogs = new StderrLogs(redactor);
  pinBook.onChange(() => {
    for (const member of hub.members) member.pins.compare();
    hub.changed();
  });
  const onServerRequest = redactServerRequests(toServerRequestHandler(handlers, report), redactor);
  const shared = {
    pool: new ProcessPool(),
    launchContext: options.launchContext ?? (await import("../launch/index.ts")).createLaunchContext(),
    inventoryStore,
    pinBook,
    driverPins,
    secrets,
    logins,
    redactor,
    events,
    stderrLogs,
    report,
    // Without a folder for snapshots the era memory is not written either.
    eras:
      options.snapshots === false ? { ...createEraMemory(), remember: async () => {} } : createEraMemory(),
    roots: options.roots ?? (await rootFolders(handlers)),
    driverCode: options.driverCode,
    storesNothing: options.snapshots === false,
    person: options.person,
    audit: auditTo(events),
    approve: (request: ApprovalRequest) =>
      hub.approve?.(request) ??
      approveByElicitation(request, options.attended === false ? undefined : onServerRequest, redactor),
    approvalHint: options.ofProgram === true && handlers.elicit === undefined ? ELICIT_HINT : undefined,
    onServerRequest,
    caller: {
      clientInfo: options.clientInfo ?? { name: "portolan", version: VERSION },
      capabilities: options.capabilities ?? toCapabilities(handlers),
    },
    changed: () => hub.changed(),
    servesCallers: options.servesCallers,
    ofProgram: options.ofProgram,
    resourceUpdated: (from: Member, uri: string) => hub.resourceUpdated(from, uri),
    log: (from: Member, message: JsonObject) => hub.logged(from, message),
  };
  const withSandboxMode = (config: ServerConfig): ServerConfig => {
    const { sandbox = {} } = options;
    if (!Object.hasOwn(sandbox, config.alias)) return config;
    return { ...config, launch: { ...config.launch, sandboxOverride: sandbox[config.alias] } };
  };
  const member: OpenedHub["member"] = (config, before, restart) =>
    new Member({
      ...shared,
      usedSecrets: { pending: new Set() },
      config: withSandboxMode(config),
      before,
      restart,
    });
  return { hub, events, calls, redactor, pinBook, driverPins, stderrLogs, member };
}

function auditTo(events: EventBus): Audit {
  const audit = (event: AuditEvent): void => events.emit(toAuditEvent(event));
  return Object.defineProperty(audit, "hearsCalls", { get: () => events.hearsCalls });
}

/** Fills in the defaults. */
export function mergeSettings({
  naming,
  descriptionPrefix,
}: Pick<HubOptions, "naming" | "descriptionPrefix">): MergeSettings {
  return { naming: naming ?? DEFAULT_NAMING, descriptionPrefix: descriptionPrefix ?? false };
}

const NO_STORE: InventoryStore = { load: async () => undefined, save: async () => {} };
