// `portolan doctor`: tests which sandbox rules this machine can enforce, checks the installed packages, and shows how to fix what fails.

import type { Diagnosis } from "../../launch/index.ts";
import { type Finding, GUARANTEES } from "../../sandbox/index.ts";
import type { Cli } from "../context.ts";
import { withSpinner } from "../output/progress.ts";
import type { Colors } from "../terminal/colors.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";

/** The exit code of a server that cannot be started. */
const NOT_ENFORCED = 3;

export async function doctor(cli: Cli): Promise<number> {
  const { output } = cli;
  const { diagnose } = await import("../../launch/index.ts");
  const diagnosis = await withSpinner(cli, (spinner) => {
    spinner.start("testing the sandbox of this machine");
    return diagnose();
  });
  const enforced = canEnforce(diagnosis);
  if (output.form === "json") output.json({ enforced, ...diagnosis });
  else output.print(describeDiagnosis(diagnosis, output));
  return enforced ? 0 : NOT_ENFORCED;
}

export interface DoctorView {
  readonly colors: Colors;
  readonly width: number | undefined;
}

const USES: Readonly<Record<string, string>> = {
  docker: "for servers that are container images",
  srt: "for servers with backend: srt in their config",
};

/** True when a backend works and the self-test of the default profile passed. */
export function canEnforce({ backends, selfTest }: Diagnosis): boolean {
  const own = backends.filter(({ optional }) => !optional);
  return own.some(({ report }) => report.available) && selfTest.length > 0 && selfTest.every(({ ok }) => ok);
}

export function describeDiagnosis(diagnosis: Diagnosis, view: DoctorView): string {
  const { colors, width } = view;
  const { backends, selfTest, store } = diagnosis;
  const chosen = backends.find((backend) => backend.chosen)?.name;
  const sections = backends.map(({ name, optional, report: { available, version, findings } }) => {
    const isUsed = name === chosen;
    const state = available
      ? colors.green(isUsed ? "works here, and is used" : "works here")
      : colors.yellow("does not work here");
    const use = optional
      ? ` (optional: ${USES[name] ?? "if a server config requires it"})`
      : isUsed || chosen === undefined
        ? ""
        : ` (not needed: ${chosen} is used)`;
    const head = `${colors.bold(name)}${version === undefined ? "" : ` ${plainLine(version, 60)}`} ${state}${colors.dim(use)}`;
    return [head, ...findings.flatMap((finding) => lines(finding, view))].join("\n");
  });
  const compared = comparison(diagnosis, view);
  if (compared !== undefined) sections.push(compared);
  if (selfTest.length > 0) sections.push(part("Self-test: a program in the default profile", selfTest, view));
  if (store.length > 0)
    sections.push(part("Installed packages: main files (portolan audit compares all files)", store, view));
  const verdict = canEnforce(diagnosis)
    ? colors.green("This machine can enforce the default profile of the sandbox.")
    : `${colors.red("This machine cannot enforce the default profile of the sandbox")}${consequence(diagnosis)}`;
  return [...sections, wrap([verdict, ...remedies(diagnosis)].join("\n"), width)].join("\n\n");
}

/** A backend that fails the self-test still starts servers. */
function consequence({ backends }: Diagnosis): string {
  return backends.some(({ optional, report }) => !optional && report.available)
    ? ": the self-test failed."
    : ", so local servers do not start, unless their sandbox mode is warn or off.";
}

/** A table of the rules that each backend enforces on this machine, or would enforce if it worked. */
function comparison({ backends }: Diagnosis, { colors }: DoctorView): string | undefined {
  const compared = backends.flatMap(({ name, report: { available, enforces } }) =>
    enforces === undefined ? [] : [{ name, enforces, available }],
  );
  if (compared.length < 2) return undefined;
  const first = Math.max(...GUARANTEES.map((name) => name.length)) + 4;
  const cell = (text: string, name: string): string => text.padEnd(name.length + 2);
  const head = `${"".padEnd(first)}${compared.map(({ name }) => cell(name, name)).join("")}`.trimEnd();
  const rows = GUARANTEES.map((guarantee) => {
    const cells = compared.map(({ name, enforces, available }) => {
      const isHeld = enforces.includes(guarantee);
      const paint = !available ? colors.dim : isHeld ? colors.green : colors.yellow;
      return paint(cell(isHeld ? "yes" : "no", name));
    });
    return `  ${guarantee.padEnd(first - 2)}${cells.join("")}`.trimEnd();
  });
  return [colors.bold("What each backend enforces"), head, ...rows].join("\n");
}

function part(title: string, findings: readonly Finding[], view: DoctorView): string {
  return [view.colors.bold(title), ...findings.flatMap((finding) => lines(finding, view))].join("\n");
}

function lines({ what, ok, detail, remedy }: Finding, { colors, width }: DoctorView): string[] {
  const mark = ok ? colors.green("ok    ") : colors.red("fail  ");
  const more = detail === undefined || detail === "" ? "" : colors.dim(`: ${plainLine(detail, 500)}`);
  const shown = [wrap(`  ${mark}${plainLine(what, 300)}${more}`, width, 8)];
  // A command gets its own line, so that it can be copied.
  if (!ok && remedy !== undefined && remedy !== "")
    shown.push(`        ${colors.cyan("fix")} ${plainLine(remedy, 1_000)}`);
  return shown;
}

/** The first fix, when the default profile cannot be enforced. */
function remedies(diagnosis: Diagnosis): string[] {
  if (canEnforce(diagnosis)) return [];
  const { backends, selfTest } = diagnosis;
  const all = [...selfTest, ...backends.flatMap(({ report }) => report.findings)];
  const first = all.find(({ ok, remedy }) => !ok && remedy !== undefined && remedy !== "");
  return [
    ...(first?.remedy === undefined ? [] : [`First step: ${plainLine(first.remedy, 1_000)}`]),
    "If this machine is itself isolated, for example a container, you can let Portolan start local servers without a sandbox. Set the environment variable PORTOLAN_SANDBOX=off",
    "This does not apply to servers whose config sets a sandbox mode, and packages that require a sandbox still do not start.",
  ];
}
