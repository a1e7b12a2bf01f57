// A driver as the text of a DRIVER.md.

import type { Binding, CostOverride, Driver, DriverPrompt, DriverResource } from "../../../model/index.ts";
import { type Fields, filledOnly, writeBody, writeFrontmatter } from "./write-frontmatter.ts";
import { writeAuth, writeHealth } from "./write-auth.ts";
import { writeLaunch } from "./write-launch.ts";
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
  if (server.kind === "remote") return { ...server, headers: filledOnly(server.headers) };
  const { args, env, ...rest } = server;
  return { ...rest, args: filledOnly(args), env: filledOnly(env) };
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
