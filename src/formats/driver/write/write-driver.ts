// A driver as the text of a DRIVER.md.

import type {
  Binding,
  CostOverride,
  Driver,
  DriverAuth,
  DriverHealthCheck,
  DriverPrompt,
  DriverResource,
  DriverServer,
  DriverServerAuth,
  HttpExpectation,
  InstallMethod,
  LaunchSettings,
  SandboxConfig,
} from "../../../model/index.ts";
import { toSandboxBlock } from "../../manifest/index.ts";
import { hostRule } from "../read/launch.ts";
import { writeIsoDuration } from "../schema/auth-schema.ts";
import { type Fields, filledOnly, writeBody, writeFrontmatter } from "./write-frontmatter.ts";
import { writeRetry } from "./write-tool.ts";

export type BindingDraft = Pick<Binding, "tool" | "range" | "toolName"> & Partial<Omit<Binding, "origin">>;

/** A driver of which only the heart has to be said; what is absent has the default. How it is reached follows from `server`. */
export type DriverDraft = Pick<Driver, "id" | "name" | "description" | "version" | "server" | "transport"> &
  Partial<Omit<Driver, "origin" | "endpoint" | "implements">> & {
    readonly implements: readonly BindingDraft[];
  };

/** `body` is the text after the frontmatter; name, description and a table of the tools when absent. */
export function writeDriver(driver: DriverDraft, body?: string): string {
  const { connection, region } = driver;
  const { network, sandbox, ...launch } = writeLaunch(driver.launch, driver.server);
  const global = region?.length === 1 && region[0] === "global";
  const fields: Fields = {
    name: driver.name,
    id: driver.id,
    description: driver.description,
    version: driver.version,
    kind: "mcp",
    server: writeServer(driver.server),
    transport: driver.transport,
    protocol_version: driver.protocolVersion,
    connection_options: filledOnly({
      timeout_ms: connection?.timeoutMs,
      max_retries: connection?.maxRetries,
      keepalive: connection?.keepalive,
    }),
    ...launch,
    auth: writeAuth(driver.auth),
    network,
    sandbox,
    region: global ? undefined : region,
    policy_tags: filledOnly(driver.policyTags),
    cost_override: writeCost(driver.cost),
    timeout_override_ms: driver.timeoutMs,
    retry_override: writeRetry(driver.retry),
    health_check: writeHealth(driver.healthCheck),
    implements: driver.implements.map(writeBinding),
    prompts: filledOnly(driver.prompts?.map(writePrompt)),
    resources: filledOnly(driver.resources?.map(writeResource)),
    tags: filledOnly(driver.tags),
    metadata: filledOnly(driver.metadata),
  };
  return writeFrontmatter(
    fields,
    body ?? writeBody(driver.name, `${driver.description}\n\n${table(driver)}`),
  );
}

function writeBinding(binding: BindingDraft): Fields {
  const { dropInputs, dropOutputs, resultExtract } = binding;
  return {
    tool: binding.tool,
    version: binding.range,
    schema_narrowing: filledOnly({
      drop_inputs: filledOnly(dropInputs),
      drop_outputs: filledOnly(dropOutputs),
    }),
    mapping: filledOnly(binding.mapping),
    cost_override: writeCost(binding.cost),
    timeout_override_ms: binding.timeoutMs,
    retry_override: writeRetry(binding.retry),
    metadata: {
      mcp: {
        tool_name: binding.toolName,
        argument_mapping: filledOnly(binding.argumentMapping),
        result_extract: resultExtract === "$" ? undefined : resultExtract,
      },
      ...binding.metadata,
    },
  };
}

function writeServer(server: Driver["server"]): Fields {
  if (server.kind === "remote") {
    const auth = server.auth && writeServerAuth(server.auth);
    return { ...server, headers: filledOnly(server.headers), auth };
  }
  const { args, env, ...rest } = server;
  return { ...rest, args: filledOnly(args), env: filledOnly(env) };
}

function writeServerAuth(auth: DriverServerAuth): Fields {
  return Object.fromEntries(
    Object.entries(auth).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value as unknown,
    ]),
  );
}

function writeCost(cost: CostOverride | undefined): Fields | undefined {
  if (cost === undefined) return undefined;
  return { cost_class: cost.costClass, cost_units_per_call: cost.unitsPerCall, currency: cost.currency };
}

function writePrompt(prompt: DriverPrompt): Fields {
  const { name, description, integrateAs } = prompt;
  const skill = prompt.integrateAs === "skill_block" ? { skill_ref: prompt.skillRef } : {};
  return { name, description, integrate_as: integrateAs, ...skill };
}

function writeResource(resource: DriverResource): Fields {
  const { uriTemplate, description, integrateAs } = resource;
  const kind = resource.integrateAs === "ref_kind" ? { ref_kind_id: resource.refKindId } : {};
  return { uri_template: uriTemplate, description, integrate_as: integrateAs, ...kind };
}

function table(driver: DriverDraft): string {
  const cell = (text: string): string => text.replace(/\s+/g, " ").replaceAll("|", "\\|");
  const rows = driver.implements.map(({ tool, toolName }) => `| ${cell(tool)} | ${cell(toolName)} |`);
  return ["| Contract | MCP tool |", "| --- | --- |", ...rows].join("\n");
}

function writeAuth(auth: DriverAuth | undefined): Fields | undefined {
  if (auth === undefined) return undefined;
  const { ref, state, login, refresh, expiryDetect } = auth;
  const when = login?.completesWhen;
  return {
    ref,
    state: state && { paths: filledOnly(state.paths), env: filledOnly(state.env) },
    login: login && {
      cmd: login.command,
      url: login.url,
      interactive: login.interactive ? true : undefined,
      requires_callback_url: login.requiresCallbackUrl ? true : undefined,
      completes_when: when && { cmd: when.command, exit_code: when.exitCode, http: writeHttp(when.http) },
    },
    refresh: refresh && { cmd: refresh.command, url: refresh.url, every: every(refresh.everyMs) },
    expiry: expiryDetect === undefined ? undefined : { detect: expiryDetect },
  };
}

function writeHealth(check: DriverHealthCheck | undefined): Fields | undefined {
  return (
    check && {
      method: check.method,
      cmd: check.command,
      http: writeHttp(check.http),
      expect_exit: check.expectExit,
      every: every(check.everyMs),
      timeout_ms: check.timeoutMs === 5_000 ? undefined : check.timeoutMs,
    }
  );
}

function writeHttp(http: HttpExpectation | undefined): Fields | undefined {
  return http && { method: http.method, url: http.url, expect_status: http.expectStatus };
}

function every(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : writeIsoDuration(ms);
}

const MB = 1024 * 1024;

/** Every server says which hosts it reaches, also when it is none; a remote one at least its own. */
function writeLaunch(launch: LaunchSettings | undefined, server: DriverServer): Fields {
  const { sandbox, install, versionCheck: check, requires } = launch ?? {};
  const egress = sandbox?.network ?? (server.kind === "remote" ? [hostRule(server.url)] : []);
  return {
    install: install && filledOnly(install.map(writeMethod)),
    version_check: check && {
      cmd: check.command,
      parse: check.parse,
      range: check.range,
      timeout_ms: check.timeoutMs === 5_000 ? undefined : check.timeoutMs,
    },
    requires: filledOnly({
      os: requires?.os?.map((name) => (name === "win32" ? "windows" : name)),
      arch: requires?.arch?.map((name) => (name === "ia32" ? "x86" : name)),
      min_memory_mb: requires?.memoryBytes && requires.memoryBytes / MB,
      min_disk_mb: requires?.diskBytes && requires.diskBytes / MB,
    }),
    network: { egress },
    sandbox: filledOnly({ mode: launch?.askedMode, ...(sandbox && writeSandbox(sandbox)) }),
  };
}

function writeMethod(method: InstallMethod): Fields {
  if (method.method === "curl") return { method: "curl", url: method.url, verify_sha256: method.sha256 };
  if (method.method !== "download") return { ...method };
  const { url, extractBin, sha256 } = method;
  return { method: "download", url, extract_bin: extractBin, verify_sha256: sha256 };
}

/** A driver has its hosts at the top level, its mode as a request, and no backend. */
function writeSandbox({
  mode: _mode,
  backend: _backend,
  network: _network,
  ...rules
}: SandboxConfig): Fields {
  return { ...toSandboxBlock(rules) };
}
