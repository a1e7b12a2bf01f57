// Consent of a person to a package: refusals of the policy, `--yes` with `--allow`, or a question at the terminal.

import { PortolanError } from "../../errors/index.ts";
import type { Cli } from "../context.ts";
import { answersRequests } from "../input/handlers.ts";
import { count } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import type { Approval, Refusal } from "./approval.ts";
import { orCancelled } from "./configuration-prompt.ts";

export interface RawConsentOptions {
  yes?: boolean;
  /** Permissions, also several with commas between; `none` for none. */
  allow?: string[];
}

/** Throws if the policy refuses the package. `data` has the whole approval, for programs. */
export function refuseByPolicy(approval: Approval, refusals: readonly Refusal[] = approval.refusals): void {
  if (refusals.length === 0) return;
  const message = refusals.map(({ reason }) => plainLine(reason, 1_000)).join("\n");
  throw new PortolanError("FORBIDDEN", message, {
    hint: [...new Set(refusals.map(({ hint }) => plainLine(hint, 500)))].join(" "),
    data: { reason: "PACKAGE_REFUSED", approval },
  });
}

/** The permissions of `--allow`. */
export function parseAllowed({ allow = [] }: RawConsentOptions): ReadonlySet<string> | undefined {
  if (allow.length === 0) return undefined;
  const words = allow.flatMap((text) => text.split(",")).map((word) => word.trim());
  const wrong = words.filter((word) => !/^[a-z][a-z0-9-]*(:[a-z0-9-]+)?$/.test(word));
  if (wrong.length > 0)
    throw new PortolanError(
      "USAGE",
      `--allow does not support the permission ${JSON.stringify(wrong[0]?.slice(0, 60))}.`,
      {
        hint: "Write permissions in lower case, separated by commas, such as --allow network,filesystem, or write --allow none.",
      },
    );
  if (words.includes("none") && words.length > 1)
    throw new PortolanError("USAGE", "--allow none cannot be used with other permissions.");
  return new Set(words.filter((word) => word !== "none"));
}

/** The options of a consent that was given on the command line. */
export function consentWords({ yes, allow = [] }: RawConsentOptions): string[] {
  return yes === true ? ["--yes", ...(allow.length === 0 ? [] : [`--allow ${allow.join(",")}`])] : [];
}

export interface ConsentRequest {
  readonly approval: Approval;
  /** The permissions that nobody granted yet. */
  readonly wanted: readonly string[];
  readonly options: RawConsentOptions;
  /** The command line without --yes and --allow, for the hint. */
  readonly command: string;
  readonly question: string;
  /** False if `--yes` alone is enough, because no permission is new. */
  readonly needsAllow?: boolean;
}

/** Returns when the person agrees. Never silently: without a terminal, both options are needed. */
export async function requireConsent(cli: Cli, request: ConsentRequest): Promise<void> {
  const { approval, wanted, options, command, question, needsAllow = true } = request;
  const allowed = parseAllowed(options) ?? (needsAllow ? undefined : new Set<string>());
  const list = wanted.length === 0 ? "none" : wanted.join(",");
  const exact = `${command} --yes${needsAllow ? ` --allow ${list}` : ""}`;
  const missing = wanted.filter((name) => allowed?.has(name) !== true);
  if (options.yes === true && allowed !== undefined && missing.length === 0) return;
  if (options.yes === true && (allowed === undefined || missing.length > 0))
    throw new PortolanError(
      "USAGE",
      missing.length === 0
        ? "--yes needs --allow, with the permissions that you grant."
        : `The package asks for ${count(missing.length, "permission")} that --allow does not grant: ${missing.join(", ")}.`,
      { hint: `If you agree: ${exact}`, data: { missing, approval } },
    );
  if (!answersRequests(cli, false))
    throw new PortolanError(
      "USAGE",
      "Nothing was changed: this command needs your consent, and cannot ask for it without a terminal.",
      {
        hint: `If you agree: ${exact}`,
        data: { permissions: wanted, approval },
      },
    );
  const prompter = await cli.io.createPrompter(cli.output.noteColors.enabled);
  const answer = orCancelled(
    await prompter.select({
      message: question,
      options: [
        { value: "no", label: "No" },
        { value: "yes", label: wanted.length === 0 ? "Yes" : `Yes, and grant ${wanted.join(", ")}` },
      ],
      initial: "no",
      signal: cli.interrupt.signal,
    }),
  );
  if (answer !== "yes") throw declined();
}

function declined(): PortolanError {
  return new PortolanError("CANCELLED", "You declined. Nothing was changed.", { hint: "" });
}
