// Portolan, `workspace.callTool(name, input)`: a tool of the mcpfile in a folder, within this process.

import { openWorkspace } from "portolan";

export async function connect({ folder }) {
  const workspace = await openWorkspace(folder, { snapshots: false, watchFiles: false });
  return {
    async call(text) {
      const { content, structuredContent } = await workspace.callTool("api.echo", { text });
      return structuredContent?.text ?? content[0].text;
    },
    close: () => workspace.close(),
  };
}
