// Module hooks for the code beside drivers. They remove the types of TypeScript files, and "portolan" means this package where the
// workspace has none of its own. Other modules of the process are not affected.
// Plain JavaScript, because older versions of Node run these hooks in a thread that loads this very file.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
/** A parameter in the URL of each module that belongs to a driver. */
const MARK = "portolan-driver";
const OWN_PACKAGE = /^portolan(?:\/|$)/;
const TYPESCRIPT = /\.m?ts$/;

export function resolve(specifier, context, next) {
  const version = versionOf(context.parentURL);
  if (version === null) return next(specifier, context);
  const resolved = OWN_PACKAGE.test(specifier)
    ? orElse(
        () => next(specifier, context),
        () => next(specifier, { ...context, parentURL: import.meta.url }),
      )
    : next(specifier, context);
  return resolved instanceof Promise
    ? resolved.then((one) => marked(one, version))
    : marked(resolved, version);
}

export function load(url, context, next) {
  if (versionOf(url) === null || !isTypeScript(url)) return next(url, context);
  // Newer versions of Node remove types too, but their flags and the package.json decide what a file may contain.
  return { format: "module", source: stripTypes(fileURLToPath(withoutQuery(url))), shortCircuit: true };
}

function stripTypes(file) {
  const { transformSync } = require("@swc/wasm-typescript");
  try {
    return transformSync(readFileSync(file, "utf8"), { mode: "strip-only", module: true, filename: file })
      .code;
  } catch (error) {
    if (error instanceof Error) throw error;
    const { message, startLine, startColumn } = error;
    throw new SyntaxError(`${file}:${startLine}:${startColumn + 1} ${message}`);
  }
}

/** The next hook works at once or asynchronously, depending on the version of Node. */
function orElse(attempt, other) {
  try {
    const result = attempt();
    return result instanceof Promise ? result.catch(other) : result;
  } catch {
    return other();
  }
}

function marked(resolved, version) {
  const { url } = resolved;
  return isTypeScript(url) && versionOf(url) === null
    ? { ...resolved, url: `${url}${url.includes("?") ? "&" : "?"}${MARK}=${version}` }
    : resolved;
}

function isTypeScript(url) {
  return url.startsWith("file:") && TYPESCRIPT.test(withoutQuery(url));
}

function withoutQuery(url) {
  return url.replace(/[?#].*$/, "");
}

function versionOf(url) {
  return url?.startsWith("file:") ? new URL(url).searchParams.get(MARK) : null;
}
