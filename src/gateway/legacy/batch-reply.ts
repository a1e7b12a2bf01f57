// Several requests in one body: their answers go out on one stream, each when it is ready; without streams, as one list.

import type { Reply } from "../common/types.ts";

export class BatchReply {
  readonly #whole: Reply;
  readonly #parts: Reply[] = [];
  readonly #held: string[] = [];
  #left: number;

  constructor(whole: Reply, count: number) {
    this.#whole = whole;
    this.#left = count;
    whole.gone = () => {
      for (const part of this.#parts) part.gone?.();
    };
  }

  part(): Reply {
    const whole = this.#whole;
    const part: Reply = {
      canStream: whole.canStream,
      gone: undefined,
      send: (text) => whole.send(text),
      end: (text) => {
        this.#left -= 1;
        if (!whole.canStream) {
          this.#held.push(text);
          if (this.#left === 0) whole.end(`[${this.#held.join(",")}]`);
        } else if (this.#left === 0) whole.end(text);
        else whole.send(text);
      },
    };
    this.#parts.push(part);
    return part;
  }
}
