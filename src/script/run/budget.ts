// Work budget of one run: bounds the size and depth of everything that a script builds out of values.

import { PortolanError } from "../../errors/index.ts";
import { SCRIPT_LIMITS } from "../limits.ts";

const MAX_DEPTH = 200;

export class Budget {
  #left: number = SCRIPT_LIMITS.work;

  /** Takes an amount of work. Throws when the script has used up its budget. */
  spend(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0)
      throw new PortolanError("MESSAGE_TOO_LARGE", "The values of this script are too large in total.", {
        hint: `A script can use values of at most ${SCRIPT_LIMITS.work} characters in total. Request less data from the tools.`,
      });
  }

  /** Takes the size of a value as it would be written. Shared parts count each time, because JSON repeats them. */
  spendValue(value: unknown): void {
    const todo: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      const { value: one, depth } = next;
      this.spend(8 + (typeof one === "string" ? one.length : 0));
      if (typeof one !== "object" || one === null) continue;
      if (depth >= MAX_DEPTH)
        throw new PortolanError(
          "MESSAGE_TOO_LARGE",
          `A value is nested more than ${MAX_DEPTH} levels deep.`,
          {
            hint: "Use a part of the value: name.field",
          },
        );
      for (const [key, part] of Object.entries(one)) {
        this.spend(key.length);
        todo.push({ value: part, depth: depth + 1 });
      }
    }
  }
}
