// Reply to a batch: each response goes out on one stream when it is ready; without streams, all go out as one list.

import type { Reply } from "../common/types.ts";

export class BatchReply {
  readonly #whole: Reply;
  readonly #parts: Reply[] = [];
  readonly #collected: string[] = [];
  #left: number;

  constructor(whole: Reply, count: number) {
    this.#whole = whole;
    this.#left = count;
    whole.onCancel = () => {
      for (const part of this.#parts) part.onCancel?.();
    };
  }

  part(): Reply {
    const whole = this.#whole;
    const part: Reply = {
      canStream: whole.canStream,
      onCancel: undefined,
      send: (text) => whole.send(text),
      end: (text) => {
        this.#left -= 1;
        if (!whole.canStream) {
          this.#collected.push(text);
          if (this.#left === 0) whole.end(`[${this.#collected.join(",")}]`);
        } else if (this.#left === 0) whole.end(text);
        else whole.send(text);
      },
    };
    this.#parts.push(part);
    return part;
  }
}
