// An MCP client of a gateway that is running already; what the tool gives may be JSON with a text in it.

import { connect as connectClient } from "../lib/gateway-client.mjs";

export async function connect({ url, era, isJson }) {
  const client = await connectClient({ url, era });
  return {
    async call(text) {
      const answer = await client.call(text);
      return isJson ? JSON.parse(answer).text : answer;
    },
    close: () => client.close(),
  };
}
