// The progress text of a call that waits for approval: its command works in any folder, with quoted paths.

import { expect, test } from "vitest";
import { splitCommandLine } from "../../base/text/command-line.ts";
import type { Outcome } from "./outcome.ts";
import { waitForDecision } from "./wait.ts";

test.each([
  ["/home/ann/project", "portolan approve k7m2xq4p -w /home/ann/project"],
  ["/home/ann/it's $HOME", String.raw`portolan approve k7m2xq4p -w '/home/ann/it'\''s $HOME'`],
  [undefined, "portolan approve k7m2xq4p"],
])(
  "the progress message contains the approve command for the workspace folder %s",
  async (folder, command) => {
    const messages: (string | undefined)[] = [];
    const allowed: Outcome = { kind: "expired", afterMs: 0 };
    const outcome = await waitForDecision({
      ...{ id: "k7m2xq4p", tool: "write", folder, by: ["terminal", "console"], message: "", untilMs: 60_000 },
      places: ["terminal", "console"],
      ...{ program: undefined, ask: undefined, hasPerson: true, mayRunUnattended: false },
      call: { onProgress: ({ message }) => void messages.push(message) },
      onSettle: (settle) => settle(allowed),
      decide: () => Promise.resolve(),
      expire: () => Promise.resolve(),
      withdraw: () => Promise.resolve(),
    });
    expect(outcome).toBe(allowed);
    expect(messages).toEqual([
      `The call waits for approval. A person can approve it in the console, or with the command ${command}`,
    ]);
    const words = ["portolan", "approve", "k7m2xq4p", ...(folder === undefined ? [] : ["-w", folder])];
    expect(splitCommandLine(command)).toEqual(words);
  },
);
