// Small mcpfiles whose tools print what they are given.

export const tool = (name: string, code: string, more = ""): string =>
  `  - name: ${name}
    description: Prints something.
    inputSchema: {type: object, properties: {text: {type: string}}}
    invocation: {cli: {command: "node --print '${code}' {text}"${more}}}
`;
export const head = (name: string, version = "1.2.3"): string =>
  `kind: MCPToolDefinitions\nschemaVersion: "0.2.0"\nname: ${name}\nversion: "${version}"\n`;
export const SAY: string = tool("say", "process.argv[1]");
export const ONE: string = `${head("my-tools")}tools:\n${SAY}`;
export const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, "  ");
export const TWO: string = `mcpFileVersion: 0.0.1
servers:
  - name: one
    version: 1.0.0
    tools:
${indented(SAY)}
  - name: two
    version: 1.0.0
    tools:
${indented(tool("shout", "process.argv[1].toUpperCase()"))}`;
