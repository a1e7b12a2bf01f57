// Describes a launch plan: the program, its rights, and the sandbox rules that are not enforced.

import type { PlannedCommand } from "../../invoke/index.ts";
import type { LaunchPlan } from "../../launch/index.ts";
import { pathGrantHint, type ResourceLimits } from "../../model/index.ts";
import { maskedWords, quoteWord } from "../output/endpoint-label.ts";
import { sandboxLabel, sandboxPaint } from "../output/server-state.ts";
import type { Colors, Paint } from "../terminal/colors.ts";
import { renderRows, type Row, wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

export interface PlanView {
  readonly colors: Colors;
  readonly width: number | undefined;
  /** Shortens a path for the output. */
  readonly label: (path: string) => string;
  /** The command that grants more to the server. */
  readonly grantCommand?: string;
}

type Sandbox = LaunchPlan["sandbox"];
type Mount = Sandbox["policy"]["mounts"][number];
type RuleProblem = Sandbox["missing"][number];

const REASONS: Readonly<Record<Mount["reason"], string>> = {
  system: "the system",
  own: "its own program",
  workspace: "packages of its workspace that its program uses",
  cwd: "its working directory",
  declared: "from its config",
  root: "granted as a root",
  "kept home": "its persistent home",
  certificates: "certificates that it trusts",
  socket: "a socket to other programs",
  "env file": "may contain secrets of its project",
  "secret file": "the config of the workspace uses it as a secret",
  "config file": "a config file with sandbox settings",
  portolan: "Portolan's own data",
};

/** The plan without secrets: words of the command line that look like one are hidden. */
export function maskedPlan(plan: LaunchPlan): LaunchPlan {
  return { ...plan, args: maskedWords(plan.args), spawn: maskedWords(plan.spawn) };
}

/** The plan as `--json` prints it, with sets as lists. */
export function planJson(plan: LaunchPlan): object {
  const { sandbox, ...rest } = maskedPlan(plan);
  const { policy } = sandbox;
  return {
    ...rest,
    sandbox: { ...sandbox, policy: { ...policy, configuredLimits: [...policy.configuredLimits] } },
  };
}

export function describePlan(plan: LaunchPlan, view: PlanView): string {
  const { colors } = view;
  const { server, sandbox } = plan;
  const sections = [
    `${colors.bold(plainLine(server, 100))}\n${renderRows(rowsOf(plan, view), view)}`,
    isUnsandboxed(sandbox)
      ? ""
      : section("Files and folders", mountLines(sandbox.policy.mounts, view), colors),
    section(
      "Named in its command or config, but hidden by its sandbox",
      plan.notGranted.flatMap((named) => [
        `  ${view.label(plainLine(named.path, 500))}  ${colors.dim(named.isNew === true ? `${named.where}; ${named.isScript === true ? "there is no such file" : "it does not exist yet"}` : named.where)}`,
        wrap(
          `    ${colors.cyan("hint")} ${plainLine(pathGrantHint(named, view.grantCommand), 1_000)}`,
          view.width,
          4,
        ),
      ]),
      colors,
    ),
    section(
      "Not enforced",
      [...sandbox.missing, ...sandbox.unenforcedDefaults.map(asDefault)].flatMap((rule) =>
        ruleLines(rule, view),
      ),
      colors,
    ),
    section("Command line", [`  ${wrapWords(maskedWords(plan.spawn).map(quoteWord), view)}`], colors),
  ];
  return sections.filter((text) => text !== "").join("\n\n");
}

/** True when the server would start: its rules are enforced, or its mode does not require it. */
export function wouldStart({ sandbox: { mode, missing } }: LaunchPlan): boolean {
  return mode !== "enforce" || missing.length === 0;
}

/** In the mode `warn`, a server starts even if no backend works on this machine. */
function isUnsandboxed({ mode, backend }: Sandbox): boolean {
  return mode === "off" || (mode === "warn" && backend === "none");
}

function rowsOf(plan: LaunchPlan, { colors, label }: PlanView): Row[] {
  const { sandbox, program, args, cwd, source, env, kind } = plan;
  const { policy, mode, backend } = sandbox;
  const words = [program, ...maskedWords(args)].map((word) => quoteWord(plainLine(word, 500)));
  const rows: Row[] = [
    { name: "runs", value: words.join(" ") },
    {
      name: "from",
      value: kind === "binary" ? plainLine(source, 500) : `${kind}: ${plainLine(source, 500)}`,
    },
    { name: "in", value: cwd === undefined ? "" : label(cwd) },
    { name: "env", value: env.map((name) => plainLine(name, 100)).join(", ") },
    wouldStart(plan)
      ? { name: "sandbox", value: sandboxLabel(sandbox), paint: sandboxPaint(mode, colors) }
      : {
          name: "sandbox",
          value: `${mode}, but this machine cannot enforce all rules: the server would not start`,
          paint: colors.red,
        },
  ];
  if (isUnsandboxed(sandbox))
    return [
      ...rows,
      {
        name: "rights",
        value: "all your rights: every file and host that you can use",
        paint: colors.yellow,
      },
    ];
  return [
    ...rows,
    { name: "network", value: policy.network.length === 0 ? "none" : policy.network.join(", ") },
    { name: "home", value: homeLabel(policy, label, backend) },
    { name: "programs", value: backend === "docker" ? "those of the image" : execLabel(policy.exec, label) },
    { name: "limits", value: limitsLabel(policy.limits) },
  ];
}

function homeLabel(
  { home, mounts }: Sandbox["policy"],
  label: (path: string) => string,
  backend: Sandbox["backend"],
): string {
  const kept = mounts.find(({ reason }) => reason === "kept home");
  if (kept !== undefined) return `${label(kept.path)}, persistent`;
  if (backend === "docker") return "that of the image, read-only";
  // A grant of the whole home folder, or of a folder around it, other than `/`.
  const around = mounts.findLast(({ path }) => path !== "/" && `${home}/`.startsWith(`${path}/`));
  return around !== undefined && around.access !== "hidden"
    ? `${label(home)}, your own home folder`
    : `${home}, empty at each start, deleted when the server stops`;
}

function execLabel({ allow, spawn }: Sandbox["policy"]["exec"], label: (path: string) => string): string {
  const which =
    allow === undefined ? "those of the system" : `itself${allow.map((name) => `, ${label(name)}`).join("")}`;
  return spawn ? which : "only itself: it cannot start other processes";
}

function limitsLabel(limits: ResourceLimits): string {
  const { memoryBytes, processes, openFiles, cpuSeconds, fileBytes, niceness } = limits;
  const parts = [
    memoryBytes === undefined ? "" : `${sizeLabel(memoryBytes)} of memory`,
    processes === undefined ? "" : `${processes} processes`,
    openFiles === undefined ? "" : `${openFiles} open files`,
    cpuSeconds === undefined ? "" : `${cpuSeconds} s of processor time`,
    fileBytes === undefined ? "" : `files of ${sizeLabel(fileBytes)}`,
    niceness === undefined ? "" : `niceness ${niceness}`,
  ];
  return parts.filter((part) => part !== "").join(", ") || "none";
}

function sizeLabel(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let [size, unit] = [bytes, 0];
  while (size >= 1_024 && unit < units.length - 1) [size, unit] = [size / 1_024, unit + 1];
  return `${Number.isInteger(size) ? size : size.toFixed(1)} ${units[unit]}`;
}

/** Read-only system folders share one line. */
function mountLines(mounts: readonly Mount[], { colors, label }: PlanView): string[] {
  const system = mounts.filter(({ reason, access }) => reason === "system" && access === "read");
  const others = mounts.filter((mount) => !system.includes(mount));
  const line = (access: string, path: string, why: string, paint: Paint): string =>
    `  ${paint(access.padEnd(7))} ${path}  ${colors.dim(why)}`;
  const paints = { read: colors.green, write: colors.yellow, hidden: colors.red } as const;
  return [
    ...others.map(({ access, path, reason }) =>
      line(access, label(plainLine(path, 500)), REASONS[reason], paints[access]),
    ),
    ...(system.length === 0
      ? []
      : [line("read", system.map(({ path }) => path).join(" "), REASONS.system, paints.read)]),
  ];
}

/** A default rule that is not enforced does not prevent the start. */
function asDefault(rule: RuleProblem): RuleProblem {
  return { ...rule, rule: `${rule.rule} (a default rule, which the start does not require)` };
}

function ruleLines({ rule, problem, remedy }: RuleProblem, view: PlanView): string[] {
  const { colors, width } = view;
  const lines = [wrap(`  ${colors.yellow(plainLine(rule, 300))} ${plainLine(problem, 500)}`, width, 4)];
  if (remedy !== "") lines.push(wrap(`    ${colors.cyan("hint")} ${plainLine(remedy, 500)}`, width, 4));
  return lines;
}

function section(title: string, lines: readonly string[], colors: Colors): string {
  return lines.length === 0 ? "" : `${colors.bold(title)}\n${lines.join("\n")}`;
}

/** Wraps between words, so that each word can be searched for. */
function wrapWords(words: readonly string[], { width }: PlanView): string {
  const text = words.map((word) => plainLine(word, 2_000)).join(" ");
  return width === undefined ? text : wrap(text, width - 2).replaceAll("\n", "\n  ");
}

export function describeCommands(
  server: string,
  commands: readonly PlannedCommand[],
  view: PlanView,
): string {
  return commands.map((command) => describeCommand(server, command, view)).join("\n\n");
}

function describeCommand(
  server: string,
  { of, words, plan, problem }: PlannedCommand,
  view: PlanView,
): string {
  const title = plainLine(`${server}: ${of}`, 200);
  if (plan !== undefined) return describePlan({ ...plan, server: title }, view);
  const { colors } = view;
  const fate =
    problem === undefined
      ? {
          name: "sandbox",
          value: "none in its config: the command runs with all your rights",
          paint: colors.yellow,
        }
      : { name: "error", value: `${plainLine(problem.message, 500)} [${problem.code}]`, paint: colors.red };
  const shown = maskedWords(words).map((word) => quoteWord(plainLine(word, 500)));
  return `${colors.bold(title)}\n${renderRows([{ name: "runs", value: shown.join(" ") }, fate], view)}`;
}

export function commandsJson(server: string, commands: readonly PlannedCommand[]): object {
  return {
    server,
    kind: "commands",
    commands: commands.map(({ of, words, plan, problem }) => ({
      ...{ of, words: maskedWords(words), sandboxed: plan !== undefined || problem !== undefined },
      plan: plan && planJson(plan),
      error: problem && { code: problem.code, message: problem.message },
    })),
  };
}

export function allWouldStart(commands: readonly PlannedCommand[]): boolean {
  return commands.every(
    ({ plan, problem }) => problem === undefined && (plan === undefined || wouldStart(plan)),
  );
}
