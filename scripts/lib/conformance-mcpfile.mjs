// The server half of the suite against the gateway with test/conformance/mcpfile.yaml: what a mcpfile can express has to pass.

import { mkdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { startMcpfileGateway } from "./conformance-gateway.mjs";
import { printList, readResults } from "./conformance-server.mjs";
import {
  readAll,
  readRequired,
  results as resultsFolder,
  runSuite,
  selection,
} from "./conformance-suite.mjs";
import { root } from "./install-once.mjs";

/** Scenarios that have to pass, in every set that has them. */
const PASSES = [
  "server-initialize",
  "server-session-lifecycle",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
  "ping",
  "logging-set-level",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-image",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-error",
  "tools-call-with-progress",
  "json-schema-2020-12",
  "http-header-validation",
  "http-custom-header-server-validation",
  "resources-list",
  "resources-read-text",
  "resources-read-binary",
  "resources-templates-read",
  "sep-2164-resource-not-found",
  "prompts-list",
  "prompts-get-simple",
  "prompts-get-with-args",
  "caching",
  "input-required-result-unsupported-methods",
];

const ASKS = "a tool of a mcpfile cannot ask its client";

/** Scenarios that have to pass, apart from these checks. */
const PASSES_APART_FROM = {
  "server-stateless": {
    "sep-2575-server-rejects-undeclared-capability": ASKS,
    "sep-2575-missing-capability-http-400": ASKS,
    "sep-2575-http-server-no-independent-requests-on-stream": ASKS,
    "sep-2575-server-no-log-without-loglevel": "a tool of a mcpfile does not log",
  },
};

/** Scenarios that need what a mcpfile has no words for. The suite runs them with the others; what comes of them does not count. */
const NOT_EXPRESSIBLE = {
  "completion-complete": "a mcpfile says nothing about how arguments are completed",
  "tools-call-mixed-content": "a tool gives the one body of a response, or the output of a command",
  "tools-call-with-logging": "a tool of a mcpfile does not log",
  "tools-call-sampling": ASKS,
  "tools-call-elicitation": ASKS,
  "elicitation-sep1034-defaults": ASKS,
  "elicitation-sep1330-enums": ASKS,
  "resources-subscribe": "nothing tells when a resource of a mcpfile has changed",
  "resources-unsubscribe": "nothing tells when a resource of a mcpfile has changed",
  "prompts-get-embedded-resource": "a prompt gives one text",
  "prompts-get-with-image": "a prompt gives one text",
  "input-required-result-basic-elicitation": ASKS,
  "input-required-result-basic-sampling": ASKS,
  "input-required-result-basic-list-roots": ASKS,
  "input-required-result-request-state": ASKS,
  "input-required-result-multiple-input-requests": ASKS,
  "input-required-result-multi-round": ASKS,
  "input-required-result-missing-input-response": ASKS,
  "input-required-result-non-tool-request": ASKS,
  "input-required-result-result-type": ASKS,
  "input-required-result-tampered-state": ASKS,
  "input-required-result-capability-check": ASKS,
  "input-required-result-ignore-extra-params": ASKS,
  "input-required-result-validate-input": ASKS,
};

/** Runs the sets, prints what came of it, and returns what is wrong. */
export async function runMcpfile(given, only) {
  const sets = given.filter((set) => only === undefined || readAll(set, "server").has(only));
  const output = join(resultsFolder, "server", "mcpfile");
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  let target;
  try {
    target = await startMcpfileGateway(output);
  } catch (error) {
    console.log(error.message);
    return [`mcpfile: ${error.message.split("\n")[0]}`];
  }
  const broken = [];
  try {
    // The suite mostly waits; both sets at once take no longer than one.
    const logs = await Promise.all(sets.map((set) => run(set, only, target.url, join(output, set))));
    for (const [index, set] of sets.entries()) {
      console.log(`\n== MCP ${set}, server: gateway with a mcpfile ==\n`);
      const problems = judge(set, only, join(output, set), logs[index]);
      broken.push(...problems.map((problem) => `${set} gateway with a mcpfile: ${problem}`));
    }
  } finally {
    broken.push(...(await target.stop()).map((problem) => `mcpfile: ${problem}`));
  }
  if (broken.length > 0) console.log(`\nEverything about these runs is in ${relative(root, output)}`);
  return broken;
}

function run(set, only, url, output) {
  mkdirSync(output, { recursive: true });
  return runSuite(["server", "--url", url, ...selection(set, only), "--output-dir", output]);
}

function judge(set, only, output, log) {
  const all = readAll(set, "server");
  const isMeant = (name) => all.has(name) && (only === undefined || only === name);
  const wanted = [...PASSES, ...Object.keys(PASSES_APART_FROM)].filter(isMeant);
  const left = Object.entries(NOT_EXPRESSIBLE).filter(([name]) => isMeant(name));
  const unknown = [...readRequired(set, "server")].filter(
    (name) => isMeant(name) && !wanted.includes(name) && NOT_EXPRESSIBLE[name] === undefined,
  );
  const results = readResults(output)
    .filter(({ scenario }) => wanted.includes(scenario))
    .map(withoutExceptions);
  const missing = wanted.filter((name) => !results.some(({ scenario }) => scenario === name));
  if (missing.length > 0) console.log(log.trim());
  const failing = results.filter(({ ok }) => !ok);
  const passed = results.reduce((total, result) => total + result.passed, 0);
  console.log(
    `${results.length - failing.length} of ${wanted.length} scenarios that a mcpfile can express pass (${passed} checks).`,
  );
  printList("Scenarios that fail", failing, ({ reasons }) => reasons);
  printReasons(
    "Checks that a mcpfile cannot express",
    results.flatMap(({ excused }) => excused),
  );
  printReasons("Scenarios that a mcpfile cannot express, not judged", left);
  return [
    ...failing.map(({ scenario }) => `${scenario} fails`),
    ...missing.map((name) => `${name} did not run`),
    ...unknown.map((name) => `${name} is in no list of scripts/lib/conformance-mcpfile.mjs`),
  ];
}

/** The result without the failures that are expected of it; those that did not fail have to leave the list. */
function withoutExceptions(result) {
  const exceptions = PASSES_APART_FROM[result.scenario];
  if (exceptions === undefined) return { ...result, excused: [] };
  const failures = result.checks.filter(({ status }) => status === "FAILURE");
  const unexpected = failures.filter(({ id }) => exceptions[id] === undefined);
  const passing = Object.keys(exceptions).filter((id) => !failures.some((failure) => failure.id === id));
  return {
    ...result,
    ok: unexpected.length === 0 && passing.length === 0,
    reasons: [
      ...unexpected.map(({ errorMessage, description }) => errorMessage ?? description),
      ...passing.map((id) => `${id} passes now; take it out of scripts/lib/conformance-mcpfile.mjs`),
    ],
    excused: Object.entries(exceptions),
  };
}

/** Names with the same reason stand together. */
function printReasons(heading, entries) {
  if (entries.length === 0) return;
  console.log(`\n${heading}:`);
  const byReason = new Map();
  for (const [name, reason] of entries) byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
  for (const [reason, names] of byReason) console.log(`  ${reason}: ${names.join(", ")}`);
}
