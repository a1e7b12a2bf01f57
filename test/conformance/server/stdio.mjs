/** Both eras over stdin and stdout, one JSON message per line. */
import { createInterface } from "node:readline";
import { isRequest, NoAnswer } from "../../fixtures/lib/rpc.mjs";
import { LegacyPeer } from "./legacy.mjs";
import { answerModern, checkEnvelope, checkVersion } from "./modern.mjs";
import { toRpcError } from "./surface.mjs";

export function serveStdio(era, surface) {
  const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
  const receive = era === "modern" ? modernReceiver(surface, send) : legacyReceiver(surface, send);
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    if (line.trim() !== "") receive(JSON.parse(line));
  });
  lines.on("close", () => process.exit(0));
}

function legacyReceiver(surface, send) {
  const peer = new LegacyPeer(surface, send);
  return (message) => peer.receive(message, send);
}

function modernReceiver(surface, send) {
  const running = new Map();
  return (message) => {
    if (isRequest(message)) void answer(message);
    else if (message.method === "notifications/cancelled") running.get(message.params?.requestId)?.abort();
  };

  async function answer(message) {
    const { id, params = {} } = message;
    const controller = new AbortController();
    running.set(id, controller);
    try {
      checkEnvelope(params);
      checkVersion(params);
      const result = await answerModern({ surface, message, notify: send, signal: controller.signal });
      if (!controller.signal.aborted) send({ jsonrpc: "2.0", id, result });
    } catch (error) {
      if (!(error instanceof NoAnswer)) send({ jsonrpc: "2.0", id, error: toRpcError(error).toJSON() });
    } finally {
      running.delete(id);
    }
  }
}
