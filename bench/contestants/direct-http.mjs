// Baseline of an HTTP tool without Portolan: undici's `request` and JSON.parse. No checks, no deadline.

import { Agent, request } from "undici";

const HEADERS = { "content-type": "application/json" };

export async function connect({ url }) {
  const dispatcher = new Agent();
  return {
    async call(text) {
      const response = await request(url, {
        method: "POST",
        headers: HEADERS,
        body: JSON.stringify({ text }),
        dispatcher,
      });
      return JSON.parse(await response.body.text()).text;
    },
    close: () => dispatcher.close(),
  };
}
