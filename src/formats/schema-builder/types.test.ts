// The inferred types. The compiler checks this file; the test exists only so that vitest runs the file.

import { expect, expectTypeOf, test } from "vitest";
import {
  duration,
  type Input,
  integer,
  list,
  object,
  oneOf,
  partialObject,
  text,
  type Value,
} from "./index.ts";

const SERVER = object("", {
  alias: text().required(),
  transport: oneOf("", ["stdio", "sse"], { synonyms: { pipe: "stdio" } }),
  idleStopMs: duration().key("idle_stop"),
  maxMessageBytes: integer().default(5),
  hosts: list("", text()),
  parts: list("", object("", { nameLength: text().transform((name) => name.length) })),
});

test("TypeScript infers the types from the schema", () => {
  expectTypeOf<Value<typeof SERVER>>().toEqualTypeOf<{
    readonly alias: string;
    readonly maxMessageBytes: number;
    readonly transport?: "stdio" | "sse";
    readonly idleStopMs?: number;
    readonly hosts?: readonly string[];
    readonly parts?: readonly { readonly nameLength?: number }[];
  }>();
  expectTypeOf<Input<typeof SERVER>>().toEqualTypeOf<{
    readonly alias: string;
    readonly transport?: "stdio" | "sse" | "pipe";
    readonly idle_stop?: string | number;
    readonly max_message_bytes?: number;
    readonly hosts?: readonly string[];
    readonly parts?: readonly { readonly name_length?: string }[];
  }>();
  // Every field of a partial object may be absent, even a required one.
  const draft = partialObject("", { a: text().required() });
  expectTypeOf<Value<typeof draft>>().toEqualTypeOf<{ readonly a?: string }>();
  // @ts-expect-error a key of the file is not a name of the code
  type Wrong = Value<typeof SERVER>["idle_stop"];
  const wrong: Wrong[] = [];
  expect(wrong).toEqual([]);
});
