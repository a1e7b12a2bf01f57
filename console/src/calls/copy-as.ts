// A call as a command, as code, and as a curl command.

import type { Json, JsonMap } from "../types.ts";
import { quoted, workspaceOption } from "../ui/workspace-option.ts";

export interface CopiedCall {
  /** The name that clients of the gateway use. */
  readonly name: string;
  readonly server: string;
  /** The server's own name of the tool. */
  readonly own: string;
  readonly input: JsonMap;
  /** The folder or config file of the workspace; undefined while it is unknown. */
  readonly workspace: string | undefined;
}

export function asCommand({ server, own, input, workspace }: CopiedCall): string {
  const target = `portolan call ${quoted(`${server}.${own}`)}${workspaceOption(workspace)}`;
  const entries = Object.entries(input);
  const isSimple = entries.every(([name, value]) => /^[\w-]+$/.test(name) && isScalar(value));
  if (isSimple)
    return [
      target,
      ...entries.map(([name, value]) =>
        quoted(`${name}=${typeof value === "string" ? value : JSON.stringify(value)}`),
      ),
    ].join(" ");
  return `echo ${quoted(JSON.stringify(input))} | ${target} --args -`;
}

export function asCode({ server, own, input, workspace = "." }: CopiedCall): string {
  return `import { openWorkspace } from "portolan";

const workspace = await openWorkspace(${JSON.stringify(workspace)});
const result = await workspace.callTool(${JSON.stringify(`${server}.${own}`)}, ${JSON.stringify(input, null, 2)});
console.log(result.text);
await workspace.close();
`;
}

export function asCurl({ name, input, workspace }: CopiedCall, url: string): string {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: input, _meta: meta },
  };
  return [
    `curl -s ${url}/mcp`,
    `-H "Authorization: Bearer $(portolan token${workspaceOption(workspace)})"`,
    `-H "Content-Type: application/json" -H "Accept: application/json, text/event-stream"`,
    `-H "MCP-Protocol-Version: 2026-07-28" -H "Mcp-Method: tools/call" -H ${quoted(`Mcp-Name: ${name}`)}`,
    `-d ${quoted(JSON.stringify(body))}`,
  ].join(" \\\n  ");
}

function isScalar(value: Json): boolean {
  return value === null || typeof value !== "object";
}
