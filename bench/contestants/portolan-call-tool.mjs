// Portolan, `connection.callTool(name, input)`: the whole result of a tool called by name.

import { connectMcp } from "portolan";

export async function connect({ transport, command, args, url, era }) {
  const endpoint = transport === "stdio" ? { transport, command, args } : { transport, url };
  const connection = await connectMcp({ ...endpoint, era });
  await connection.listTools();
  return {
    async call(text, signal) {
      const result = await connection.callTool("echo", { text }, signal && { signal });
      return result.content[0].text;
    },
    close: () => connection.close(),
  };
}
