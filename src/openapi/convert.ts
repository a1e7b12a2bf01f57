// Converts a description of an HTTP API to an mcpfile: each operation becomes a tool. Operations that cannot are reported.

import { isHttpUrl } from "../base/net/urls.ts";
import type { JsonObject } from "../model/index.ts";
import { quoted } from "../formats/document/index.ts";
import { distribute, listBytes, type MadeTool } from "./files.ts";
import { Bases, depthOf, renderFile } from "./mcpfile.ts";
import { ToolRenderer } from "./render-tool.ts";
import { child, openSpec, type Spec, textOf } from "./document/document.ts";
import { SpecDiagnostics, nowhere } from "./document/diagnostics.ts";
import { MODEL_LIMITS, RESULT_LIMITS, SCHEMA_BUDGET } from "./limits.ts";
import { serverName } from "./names.ts";
import { createSelection, listOperations, type Operation } from "./document/operations.ts";
import { readSpec } from "./document/read-spec.ts";
import { TooLarge } from "./schema/schema.ts";
import { createSecurity } from "./request/security.ts";
import { type Address, baseUrlOf, checkBaseUrl, type FoundBase } from "./request/base-url.ts";
import { type ConversionContext, toTool } from "./tool.ts";
import { type At, type ConvertedApi, type ConvertedFile, type ConvertOptions, Unusable } from "./types.ts";

/** Never throws: errors of the description are among the diagnostics. */
export function convertOpenApi(text: string, options: ConvertOptions): ConvertedApi {
  const diagnostics = new SpecDiagnostics(options.file);
  const read = readSpec(text, options.file, diagnostics);
  const made = read === undefined ? NOTHING : convertRoot(read.root, options, diagnostics);
  return { ...made, ...diagnostics.done(read?.locate ?? nowhere) };
}

type Made = Pick<ConvertedApi, "files" | "mcpfile" | "tools" | "needs">;
const NOTHING: Made = { files: [], mcpfile: "", tools: 0, needs: [] };

function convertRoot(root: unknown, options: ConvertOptions, diagnostics: SpecDiagnostics): Made {
  const spec = openSpec(root);
  if (typeof spec === "string") {
    diagnostics.error([], spec, "Name the file or the URL of an OpenAPI 3 or Swagger 2.0 description.");
    return NOTHING;
  }
  const baseUrl = options.baseUrl === undefined ? undefined : checkBaseUrl(options.baseUrl);
  if (typeof baseUrl === "object") {
    diagnostics.error([], baseUrl.problem, "Correct --base-url.");
    return NOTHING;
  }
  const selection = createSelection(options.only);
  const operations = listOperations(spec, selection, diagnostics);
  for (const pattern of selection.unused())
    diagnostics.warn(["paths"], `no operation matches ${quoted(pattern)}`);
  if (operations.length === 0) {
    diagnostics.error(
      ["paths"],
      "there is no operation that can become a tool",
      options.only === undefined || options.only.length === 0
        ? "Check that the file describes the whole API, not only a part of it."
        : "Check the patterns of --only: a tool name, GET /path, /path or tag:name.",
    );
    return NOTHING;
  }
  return convertOperations(spec, operations, { ...options, baseUrl }, diagnostics);
}

function convertOperations(
  spec: Spec,
  operations: readonly Operation[],
  options: ConvertOptions,
  diagnostics: SpecDiagnostics,
): Made {
  const info = child({ value: spec.root, path: [] }, "info");
  const title = textOf(info, "title") ?? "api";
  const name = serverName(options.name ?? title);
  const context: ConversionContext = {
    spec,
    work: { left: SCHEMA_BUDGET.all, largeOutputs: 0, outlined: 0 },
    diagnostics,
  };
  const credentialsOf = createSecurity(spec, name, diagnostics);
  const bases = new Bases();
  const tools: MadeTool[] = [];
  const renderer = new ToolRenderer();
  let [noRoom, bytes] = [0, 0];
  const baseProblems = new Set<string>();
  const replacedUrls = new Set<string>();

  for (const operation of operations) {
    const { label, at, shared, group } = operation;
    try {
      const { url, replaced } = baseOf(spec, [at, shared], options, baseProblems, diagnostics);
      if (replaced !== undefined && !replacedUrls.has(replaced.url)) {
        replacedUrls.add(replaced.url);
        diagnostics.warn(
          replaced.at.path,
          `${label} declares its own server ${quoted(replaced.url)}; the given base URL replaces it`,
        );
      }
      const credentials = credentialsOf(at);
      const base = bases.nameFor(url, credentials.headers);
      const made = toTool(operation, base, credentials, context);
      if (depthOf(made) > RESULT_LIMITS.depth) throw new Unusable("its schemas are nested too deep", at.path);
      const tool = renderer.pack(made);
      if (tool === undefined) throw new Unusable("its tool is too large for a file", at.path);
      bytes += tool.size.bytes + tool.more.bytes;
      if (bytes > RESULT_LIMITS.allBytes) {
        noRoom += 1;
        diagnostics.skipQuietly(label, "all files together are too large", at.path);
        continue;
      }
      tools.push({ tool, group, base, needs: credentials.needs, listBytes: listBytes(made) });
    } catch (thrown) {
      const [reason, path] = reasonOf(thrown, at);
      if (context.work.left < 0 && thrown instanceof TooLarge) {
        noRoom += 1;
        diagnostics.skipQuietly(label, reason, path);
      } else if (baseProblems.has(reason)) diagnostics.skipQuietly(label, reason, path);
      else diagnostics.skip(label, reason, path);
    }
  }
  if (noRoom > 0)
    diagnostics.summary(
      ["paths"],
      `operations that are skipped, because all tools together are too large: ${noRoom}`,
      "Choose the operations that are needed, with --only.",
    );
  if (tools.length === 0) return NOTHING;
  const parts = distribute(tools, name, options.split).map((part) => ({ part, ...part.pack.finish() }));
  noteSizes(tools, parts, context);
  const made = `Made by portolan from ${source(options.file)}: ${[title, versionOf(info)].join(" ").trim()} (${spec.version}).`;
  const files = parts.map(({ part, texts }): ConvertedFile => {
    const head = headOf(info, part.server, bases.named(part.bases));
    const comments = [made];
    if (part.needs.size > 0) comments.push(`Needs these secrets: ${[...part.needs].join(", ")}.`);
    return { name: part.fileName, text: renderFile(comments, head, texts), tools: part.pack.count };
  });
  const mcpfile = files.length === 1 ? (files[0]?.text ?? "") : "";
  return { files, mcpfile, tools: tools.length, needs: [...new Set(tools.flatMap(({ needs }) => needs))] };
}

function noteSizes(
  tools: readonly MadeTool[],
  parts: readonly { readonly shortened: number }[],
  { work, diagnostics }: ConversionContext,
): void {
  const left = parts.reduce((sum, { shortened }) => sum + shortened, work.largeOutputs);
  if (left > 0) diagnostics.summary(["paths"], `outputSchemas that are too large are left out: ${left}`);
  if (work.outlined > 0)
    diagnostics.summary(
      ["paths"],
      `inputSchemas that are too large are shortened: ${work.outlined}. Their innermost parts accept any value, which only the API checks`,
    );
  const bytes = tools.reduce((sum, tool) => sum + tool.listBytes, 0);
  if (tools.length <= MODEL_LIMITS.tools && bytes <= MODEL_LIMITS.bytes) return;
  const tokens = Math.ceil(bytes / 4_000);
  diagnostics.summary(
    ["paths"],
    `${tools.length} tools with about ${tokens} 000 tokens are a long list: models choose badly from it, and some providers refuse it`,
    "Choose operations with --only tag:<name>, or write one file for each tag with --split tag and serve some of them.",
  );
}

/** A missing base URL is reported once, not for each operation. */
function baseOf(
  spec: Spec,
  levels: readonly At[],
  address: Address,
  reported: Set<string>,
  diagnostics: SpecDiagnostics,
): FoundBase {
  try {
    return baseUrlOf(spec, levels, address);
  } catch (thrown) {
    if (thrown instanceof Unusable && !reported.has(thrown.message)) {
      reported.add(thrown.message);
      diagnostics.error(thrown.path, thrown.message);
    }
    throw thrown;
  }
}

function reasonOf(thrown: unknown, at: At): readonly [string, At["path"]] {
  if (thrown instanceof Unusable) return [thrown.message, thrown.path.length === 0 ? at.path : thrown.path];
  return [`it cannot be converted: ${thrown instanceof Error ? thrown.message : String(thrown)}`, at.path];
}

function headOf(info: At, name: string, invocationBases: JsonObject): JsonObject {
  const about = [textOf(info, "description"), textOf(info, "summary")].find(
    (text) => text !== undefined && text.length <= 1_000,
  );
  return {
    kind: "MCPToolDefinitions",
    schemaVersion: "0.2.0",
    name,
    version: semantic(versionOf(info)),
    ...(about === undefined ? {} : { instructions: about }),
    invocationBases,
  };
}

function versionOf(info: At): string {
  const { value } = child(info, "version");
  return typeof value === "string" || typeof value === "number" ? String(value).slice(0, 60) : "";
}

/** Three numbers from `v1` or `1.2`. Other versions appear only in the comment of the file. */
function semantic(version: string): string {
  const found = /^v?(\d{1,9})(?:\.(\d{1,9}))?(?:\.(\d{1,9}))?([-+][0-9A-Za-z.+-]+)?$/.exec(version.trim());
  if (found === null) return "1.0.0";
  const [, major = "1", minor = "0", patch = "0", more = ""] = found;
  return /^-?\d/.test(more) ? "1.0.0" : `${major}.${minor}.${patch}${more}`;
}

/** Without credentials and query of a URL. */
function source(file: string): string {
  if (!isHttpUrl(file) || !URL.canParse(file)) return file;
  const { origin, pathname } = new URL(file);
  return `${origin}${pathname}`;
}
