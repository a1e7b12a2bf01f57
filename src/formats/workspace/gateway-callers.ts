// The callers of the gateway: each has a name of its own and a way to show who it is.

import type { GatewayCaller } from "../../model/index.ts";
import { nodeAt, type Place, type Problems, quoted, type TextNode, toLabel } from "../text/index.ts";
import type { CheckedCaller, CheckedGateway } from "./gateway-checked.ts";
import { toCallerLimits } from "./gateway-limits.ts";
import { CALLER_PATTERN, SHA256_PATTERN } from "./gateway-shape.ts";

const NAME = new RegExp(CALLER_PATTERN);
const SHA256 = new RegExp(SHA256_PATTERN);
/** What the gateway itself calls who has its own token, who started it, and who needs none. */
const TAKEN: ReadonlySet<string> = new Set(["local", "stdio", "anyone"]);

/** Half right when there are problems; then nothing of the section is used. */
export function toCallers(
  gateway: CheckedGateway,
  node: TextNode,
  problems: Problems,
): readonly GatewayCaller[] | undefined {
  const names = new Map<string, Place>();
  const hashes = new Map<string, Place>();
  return gateway.callers?.map((caller, index): GatewayCaller => {
    const place = nodeAt(node, "callers", index);
    if (caller === undefined || place === undefined) return { name: "" };
    checkName(caller, place, names, problems);
    checkCredentials(caller, place, gateway, problems);
    checkHash(caller, place, hashes, problems);
    return toCaller(caller, place, problems);
  });
}

/** The nodes that name servers in rules; those of an unknown server are told once all servers are known. */
export function serversNamedByGateway(gateway: TextNode | undefined): TextNode[] {
  const callers = nodeAt(gateway, "callers");
  if (callers?.kind !== "list") return [];
  return callers.items.flatMap((caller) =>
    ["allow", "deny"].flatMap((rules) => nodeAt(caller, rules, "servers") ?? []),
  );
}

function toCaller(caller: CheckedCaller, place: TextNode, problems: Problems): GatewayCaller {
  const { name = "", token, token_sha256: hash, oauth, allow, deny, limits } = caller;
  return {
    name,
    ...(token === undefined ? {} : { token }),
    ...(hash === undefined ? {} : { tokenSha256: hash.toLowerCase() }),
    ...(oauth === undefined ? {} : { oauth }),
    ...(allow === undefined ? {} : { allow }),
    ...(deny === undefined ? {} : { deny }),
    ...(limits === undefined ? {} : { limits: toCallerLimits(limits, nodeAt(place, "limits"), problems) }),
  };
}

function checkName(
  { name }: CheckedCaller,
  caller: TextNode,
  names: Map<string, Place>,
  problems: Problems,
): void {
  const place = nodeAt(caller, "name");
  if (name === undefined || place === undefined) return;
  const first = names.get(name);
  if (!NAME.test(name))
    problems.add(
      place,
      `${quoted(name)} cannot be the name of a caller`,
      'Use up to 64 letters, digits, "_", "-", "." and "@".',
    );
  else if (TAKEN.has(name))
    problems.add(place, `the gateway itself uses the name ${quoted(name)}`, "Choose another name.");
  else if (first !== undefined)
    problems.add(
      place,
      `the caller ${quoted(name)} stands here and at line ${first.line}, column ${first.column}`,
      "Give one of the two another name.",
    );
  else names.set(name, place);
}

function checkCredentials(
  caller: CheckedCaller,
  place: TextNode,
  gateway: CheckedGateway,
  problems: Problems,
): void {
  const given = (key: string): TextNode | undefined => {
    const node = nodeAt(place, key);
    return node?.kind === "null" ? undefined : node;
  };
  const [token, hash, oauth] = ["token", "token_sha256", "oauth"].map(given);
  if (token === undefined && hash === undefined && oauth === undefined)
    problems.add(
      place,
      `${toLabel(place.path)} says neither token nor token_sha256 nor oauth`,
      "Write how this caller shows who it is.",
    );
  if (token !== undefined && hash !== undefined)
    problems.add(hash, "token_sha256 says the same as token", "Keep one of them.");
  if (oauth !== undefined && gateway.oauth === undefined)
    problems.add(
      oauth,
      "there is no issuer whose tokens this could be about",
      "Write gateway.oauth with an issuer.",
    );
  if (token !== undefined && caller.token !== undefined && !caller.token.includes("${"))
    problems.warn(
      token,
      "the token stands here for everyone who can read this file",
      "Write ${NAME} and set the secret NAME, or write token_sha256.",
    );
}

function checkHash(
  { token_sha256: hash }: CheckedCaller,
  caller: TextNode,
  hashes: Map<string, Place>,
  problems: Problems,
): void {
  const place = nodeAt(caller, "token_sha256");
  if (hash === undefined || place === undefined) return;
  const first = hashes.get(hash.toLowerCase());
  if (!SHA256.test(hash))
    problems.add(
      place,
      "token_sha256 must be 64 hexadecimal digits",
      'Make it with: printf %s "$TOKEN" | sha256sum.',
    );
  else if (first !== undefined)
    problems.add(
      place,
      `the same token_sha256 stands at line ${first.line}, column ${first.column}`,
      "Give each caller a token of its own.",
    );
  else hashes.set(hash.toLowerCase(), place);
}
