#!/usr/bin/env node
// Entry point of the `portolan` command: loads the files of the command, with the code that V8 compiled in an earlier run.
//
// Compiling takes most of a start. Node itself stores compiled code only from version 22 on, and only for files that it loads
// itself, so the build writes the files of the command as plain scripts (`scripts/lib/loader-format.mjs`), and this loader runs
// them. It is plain JavaScript, because the build does not touch it.
"use strict";

const fs = process.getBuiltinModule("node:fs");
const path = process.getBuiltinModule("node:path");
const { Script } = process.getBuiltinModule("node:vm");
const { crc32 } = process.getBuiltinModule("node:zlib");

const FOLDER = path.join(__dirname, "..", "command");
/** The checksum at the end of a cache file. V8 does not notice damaged code, and crashes. */
const CHECKSUM_BYTES = 4;
/** A command that runs for longer stores its compiled code after this time. */
const SETTLED_MS = 5_000;

/** The exports of the files that are loaded. @type {Map<string, object>} */
const loaded = new Map();
/** @type {Map<string, import("node:vm").Script>} */
const scripts = new Map();
const cacheFile = findCacheFile();
const cache = readCache();
let isOutdated = false;

if (cacheFile !== undefined) {
  process.once("exit", (code) => {
    // A user who has interrupted the command does not wait.
    if (code < 128) store();
  });
  setTimeout(settle, SETTLED_MS).unref();
}
// The build puts the name of the first file here.
module.exports = load("start.js");
void module.exports.start();

/** Runs a file of the command, unless it was loaded before. @param {string} name */
function load(name) {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const exports = {};
  loaded.set(name, exports);
  const filename = path.join(FOLDER, name);
  const cachedData = cache.get(name);
  // The build writes ASCII only: V8 stores such a text with one byte per character.
  const script = new Script(fs.readFileSync(filename, "latin1"), { filename, cachedData });
  if (script.cachedDataRejected !== false) isOutdated = true;
  scripts.set(name, script);
  script.runInThisContext()(exports, load, importModule, require, filename);
  return exports;
}

/** The `import()` of the command's files. V8 does not allow it in code from a cache. @param {string} name */
async function importModule(name) {
  if (name.startsWith("./")) return load(name.slice(2));
  return name.startsWith("node:") ? process.getBuiltinModule(name) : import(name);
}

/** One file per command, because another command runs other functions. Undefined if nothing must be stored. */
function findCacheFile() {
  if (process.env.NODE_DISABLE_COMPILE_CACHE) return undefined;
  const [command = ""] = process.argv.slice(2);
  const name = /^[a-z]{1,20}$/.test(command) ? command : "other";
  try {
    return path.join(cacheFolder(), "compiled", `${process.version}-${process.arch}`, name);
  } catch {
    return undefined; // There is no home folder.
  }
}

/** The folder that the package env-paths names; loading the package would take longer than this. */
function cacheFolder() {
  const home = process.getBuiltinModule("node:os").homedir();
  if (process.platform === "darwin") return path.join(home, "Library", "Caches", "portolan");
  if (process.platform === "win32")
    return path.join(process.env.LOCALAPPDATA || path.join(home, "AppData", "Local"), "portolan", "Cache");
  return path.join(process.env.XDG_CACHE_HOME || path.join(home, ".cache"), "portolan");
}

/** The compiled code by file. A name contains a hash of its content, so that the code of another build is never used. */
function readCache() {
  /** @type {Map<string, Buffer>} */
  const found = new Map();
  try {
    if (cacheFile === undefined) return found;
    const bytes = readOwnFile(cacheFile);
    const end = bytes.length - CHECKSUM_BYTES;
    if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32LE(end)) return found;
    const headEnd = 4 + bytes.readUInt32LE(0);
    for (const [name, start, length] of JSON.parse(bytes.latin1Slice(4, headEnd)))
      found.set(name, bytes.subarray(headEnd + start, headEnd + start + length));
  } catch {
    found.clear(); // Missing or damaged: everything is compiled.
  }
  return found;
}

/** Compiled code is run without a check, so that nobody else may have written it. @param {string} file */
function readOwnFile(file) {
  const fd = fs.openSync(file, "r");
  try {
    const { uid, mode } = fs.fstatSync(fd);
    const isOwn = process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0);
    return isOwn ? fs.readFileSync(fd) : Buffer.alloc(0);
  } finally {
    fs.closeSync(fd);
  }
}

/** For a command that goes on: stores the compiled code, and frees the bytes that were read. */
function settle() {
  store();
  for (const [name, bytes] of cache)
    if (scripts.has(name)) cache.delete(name);
    else cache.set(name, Buffer.from(bytes));
}

/** Stores the compiled code of everything that has run. */
function store() {
  if (!isOutdated || cacheFile === undefined) return;
  isOutdated = false;
  const head = [];
  const parts = [];
  let size = 0;
  for (const [name, script] of scripts) {
    const data = script.createCachedData();
    head.push([name, size, data.length]);
    parts.push(data);
    size += data.length;
  }
  const headBytes = Buffer.from(JSON.stringify(head), "latin1");
  const headLength = Buffer.alloc(4);
  headLength.writeUInt32LE(headBytes.length);
  const fresh = `${cacheFile}.${process.pid}`;
  try {
    fs.mkdirSync(path.join(cacheFile, ".."), { recursive: true, mode: 0o700 });
    fs.writeFileSync(fresh, withChecksum([headLength, headBytes, ...parts]), { mode: 0o600 });
    fs.renameSync(fresh, cacheFile);
  } catch {
    // The next start compiles again. The folder may be missing, or the disk full.
    try {
      fs.rmSync(fresh, { force: true });
    } catch {}
  }
}

/** @param {Buffer[]} parts */
function withChecksum(parts) {
  const content = Buffer.concat(parts);
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32LE(crc32(content));
  return Buffer.concat([content, checksum]);
}
