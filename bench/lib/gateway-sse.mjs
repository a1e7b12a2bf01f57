// The client side of the transport before Streamable HTTP: a GET whose stream names the URL to POST to and carries all answers.

import { explainStatus } from "./gateway-status.mjs";

/** Returns `send(message)`: resolves when the answer has come on the stream. */
export async function openEventWire(pool, path) {
  const waiting = new Map();
  const onMessage = (message) => {
    waiting.get(message.id)?.resolve({ status: 200, headers: {}, message });
    waiting.delete(message.id);
  };
  const onEnd = (reason) => {
    for (const { reject } of waiting.values()) reject(new Error(reason));
    waiting.clear();
  };
  const endpoint = await openStream(pool, path, onMessage, onEnd);
  return (message) =>
    new Promise((resolve, reject) => {
      if (message.id === undefined) resolve({});
      else waiting.set(message.id, { resolve, reject });
      const fail = (reason) => {
        waiting.delete(message.id);
        reject(new Error(reason));
      };
      const headers = { "content-type": "application/json" };
      pool.dispatch(
        { method: "POST", path: endpoint, headers, body: JSON.stringify(message) },
        new Receipt(fail),
      );
    });
}

function openStream(pool, path, onMessage, onEnd) {
  return new Promise((resolve, reject) => {
    let partial = "";
    const end = (reason) => {
      reject(new Error(reason));
      onEnd(reason);
    };
    const request = { method: "GET", path, headers: { accept: "text/event-stream" }, bodyTimeout: 0 };
    pool.dispatch(request, {
      onRequestStart() {},
      onResponseStart(_controller, status) {
        if (status !== 200) reject(new Error(`HTTP ${status}`));
      },
      onResponseData(_controller, chunk) {
        partial += chunk.toString();
        for (let at; (at = partial.indexOf("\n\n")) !== -1; partial = partial.slice(at + 2)) {
          const event = partial.slice(0, at);
          const data = event.slice(event.indexOf("data: ") + 6);
          if (event.startsWith("event: endpoint")) resolve(data);
          else if (data.startsWith("{")) onMessage(JSON.parse(data));
        }
      },
      onResponseEnd: () => end("the stream of answers ended"),
      onResponseError: (_controller, error) => end(error.message),
    });
  });
}

/** The reply to a POST says only that the message was taken. */
class Receipt {
  #fail;
  #status;

  constructor(fail) {
    this.#fail = fail;
  }

  onRequestStart() {}

  onResponseStart(_controller, status) {
    this.#status = status;
  }

  onResponseData() {}

  onResponseEnd() {
    if (this.#status >= 300) this.#fail(explainStatus(this.#status));
  }

  onResponseError(_controller, error) {
    this.#fail(error.message);
  }
}
