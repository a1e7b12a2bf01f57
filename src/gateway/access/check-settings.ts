// Checks the settings that a program passes to `openGateway()`, as the schema of portolan.yaml checks its section `gateway`: a rule
// with a name that nothing has would leave the gateway less restricted than its author believes.

import { areToolsNamedByServer, unmatchedPattern } from "../../catalog/index.ts";
import { type Diagnostic, didYouMean, PortolanError } from "../../errors/index.ts";
import {
  BUILT_IN_CALLERS,
  type GatewayCaller,
  type GatewaySettings,
  type GatewayToolRules,
  type ServerConfig,
} from "../../model/index.ts";

interface Problem {
  readonly message: string;
  readonly hint?: string;
}

interface PlacedRules {
  /** The place of the rules in the settings, such as `callers[0].deny`. */
  readonly path: string;
  readonly rules: Pick<GatewayToolRules, "servers" | "tools">;
}

const MAX_LISTED = 20;

/** Throws CONFIG_INVALID with all problems. `servers` are the names of all servers of the workspace. */
export function checkSettings(settings: GatewaySettings, servers: readonly string[]): void {
  const problems = [
    ...callerProblems(settings),
    ...placedRules(settings).flatMap(({ path, rules }) => unknownServers(path, rules, servers)),
    ...unknownCallers(settings),
  ];
  if (problems.length === 0) return;
  const hints = [...new Set(problems.flatMap(({ hint }) => hint ?? []))];
  throw new PortolanError(
    "CONFIG_INVALID",
    `the settings of openGateway() are not valid: ${problems.map(({ message }) => message).join("; ")}`,
    {
      hint: hints.length === 0 ? undefined : hints.join(" "),
      data: { problems: problems.map(({ message }) => message) },
    },
  );
}

/** Warnings about tool patterns of a program that begin with the name of no server. */
export function unmatchedPatterns(
  settings: GatewaySettings | ((configured: GatewaySettings) => GatewaySettings) | undefined,
  workspace: { readonly servers: readonly ServerConfig[]; readonly naming?: string | undefined },
): Diagnostic[] {
  // A function mostly returns rules of the config files, which were checked when the files were read.
  if (typeof settings !== "object" || !areToolsNamedByServer(workspace)) return [];
  const servers = workspace.servers.map(({ alias }) => alias);
  const { budgets = {}, loops } = settings;
  const patterns = [
    ...placedRules(settings),
    ...Object.entries(budgets).map(([name, rules]) => ({ path: `budgets.${name}`, rules })),
    { path: "loops.except", rules: { tools: loops?.except } },
  ];
  return patterns.flatMap(({ path, rules: { tools = [] } }) =>
    tools.flatMap((pattern) => {
      const found = unmatchedPattern(pattern, servers);
      if (found === undefined) return [];
      return [
        { code: "CONFIG_INVALID", severity: "warning", ...found, message: `${path}: ${found.message}` },
      ];
    }),
  );
}

function placedRules({ callers = [], approval = [] }: GatewaySettings): PlacedRules[] {
  const ofCallers = callers.flatMap(({ allow, deny }, index) =>
    Object.entries({ allow, deny }).flatMap(([name, rules]) =>
      rules === undefined ? [] : [{ path: `callers[${index}].${name}`, rules }],
    ),
  );
  return [...ofCallers, ...approval.map((rules, index) => ({ path: `approval[${index}]`, rules }))];
}

function unknownServers(
  path: string,
  { servers = [] }: PlacedRules["rules"],
  known: readonly string[],
): Problem[] {
  return servers
    .filter((name) => !known.includes(name))
    .map((name) => ({
      message: `${path}.servers names ${JSON.stringify(name)}, but there is no such server`,
      hint: didYouMean(name, known) ?? listOf("Servers", known),
    }));
}

/** Callers that nobody could be, and those whose rules would have no effect. */
function callerProblems({ callers = [], oauth, auth, approval = [] }: GatewaySettings): Problem[] {
  const names = new Set<string>();
  const problems = callers.flatMap((caller, index) => {
    const path = `callers[${index}]`;
    const isSecond = names.has(caller.name);
    names.add(caller.name);
    return [
      ...(isSecond ? [{ message: `${path} has the same name as an earlier caller, ${caller.name}` }] : []),
      ...(BUILT_IN_CALLERS.has(caller.name)
        ? [
            {
              message: `${path}.name cannot be ${JSON.stringify(caller.name)}, which the gateway itself uses`,
            },
          ]
        : []),
      ...credentialProblems(path, caller, oauth !== undefined),
    ];
  });
  if (auth === "none" && (callers.length > 0 || oauth !== undefined))
    problems.push({
      message: `auth: "none" lets everyone in without a token, so that it cannot be combined with callers or oauth`,
    });
  for (const [index, { by }] of approval.entries())
    if (by?.length === 0) problems.push({ message: `approval[${index}].by names no way to approve a call` });
  return problems;
}

function credentialProblems(
  path: string,
  { token, tokenSha256, oauth }: GatewayCaller,
  hasIssuer: boolean,
): Problem[] {
  if (token === undefined && tokenSha256 === undefined && oauth === undefined)
    return [
      { message: `${path} has neither token nor tokenSha256 nor oauth, so that nobody can be this caller` },
    ];
  if (token !== undefined && tokenSha256 !== undefined)
    return [{ message: `${path} cannot have both token and tokenSha256` }];
  if (oauth !== undefined && !hasIssuer)
    return [{ message: `${path}.oauth has no effect, because the settings have no oauth` }];
  return [];
}

function unknownCallers({
  callers = [],
  approval = [],
  budgets = {},
  telemetry,
}: GatewaySettings): Problem[] {
  const known = new Set([...BUILT_IN_CALLERS, ...callers.map(({ name }) => name)]);
  const lists: readonly (readonly [path: string, names: readonly string[] | undefined])[] = [
    ...approval.map((rule, index) => [`approval[${index}].callers`, rule.callers] as const),
    ...Object.entries(budgets).map(([name, budget]) => [`budgets.${name}.callers`, budget.callers] as const),
    ["telemetry.prometheus.callers", telemetry?.prometheus?.callers],
  ];
  return lists.flatMap(([path, names = []]) =>
    names
      // People of an OAuth issuer are named by their claims, as in oauth:<issuer>|<subject>.
      .filter((name) => !known.has(name) && !/[*|]/.test(name))
      .map((name) => ({
        message: `${path} names ${JSON.stringify(name)}, but no caller has this name`,
        hint: didYouMean(name, known) ?? listOf("Callers", [...known]),
      })),
  );
}

function listOf(what: string, names: readonly string[]): string {
  return names.length === 0 ? `${what}: none.` : `${what}: ${names.slice(0, MAX_LISTED).join(", ")}.`;
}
