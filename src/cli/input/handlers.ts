// Handlers for server requests: the person at the terminal answers them, or they are declined.

import type { McpOptions } from "../../client/index.ts";
import type { Redactor } from "../../secrets/index.ts";
import type { Cli } from "../context.ts";
import type { Spinner } from "../terminal/spinner.ts";
import { createElicit } from "./elicitation.ts";

/** True when a person can answer: prompts go to stderr, answers come from stdin. */
export function isInteractive({ io }: Pick<Cli, "io">): boolean {
  // The stream of stdin is created when it is first used.
  return io.stderr.isTTY === true && io.stdin.isTTY === true;
}

/** True when server requests may be shown to the person: not with --no-input, nor after stdin was read. */
export function answersRequests(cli: Pick<Cli, "io" | "options">, stdinTaken: boolean): boolean {
  return cli.options.input && !stdinTaken && isInteractive(cli);
}

export function createHandlers(
  cli: Cli,
  server: string,
  spinner: Spinner,
  stdinTaken: boolean,
  redactor?: Redactor,
): NonNullable<McpOptions["handlers"]> {
  const { io, output } = cli;
  const elicit = createElicit({
    server,
    prompter: answersRequests(cli, stdinTaken)
      ? () => io.createPrompter(output.noteColors.enabled)
      : undefined,
    note: (text) => output.note(text),
    openBrowser: io.openBrowser,
    withTerminal: (work) => spinner.pausedFor(work),
  });
  if (redactor === undefined) return { elicit };
  // A server may repeat a secret that it was given. The address of a page stays, or it would lead elsewhere.
  return {
    elicit: (request, context) =>
      elicit(
        request.mode === "url"
          ? { ...request, message: redactor.redactText(request.message) }
          : redactor.redactValue(request),
        context,
      ),
  };
}
