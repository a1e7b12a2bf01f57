// Portolan, `tool.execute(input)`: a tool as agent frameworks call it, its result as text.

import { connectMcp } from "portolan";

export async function connect({ transport, command, args, url, era }) {
  const endpoint = transport === "stdio" ? { transport, command, args } : { transport, url };
  const connection = await connectMcp({ ...endpoint, era });
  const tools = await connection.listTools();
  const echo = tools.find((tool) => tool.name === "echo");
  return {
    call: (text, signal) => echo.execute({ text }, signal && { signal }),
    close: () => connection.close(),
  };
}
