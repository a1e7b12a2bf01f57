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
/** A cache file begins with the length and the checksum of its table of contents. */
const HEAD_BYTES = 8;
/** A command that runs for longer stores its compiled code after this time. */
const SETTLED_MS = 5_000;

/** The exports of the files that are loaded. @type {Map<string, object>} */
const loaded = new Map();
/** @type {Map<string, import("node:vm").Script>} */
const scripts = new Map();
const cacheFile = findCacheFile();
/** One buffer for everything that is read: memory that many buffers have used stays with the process. */
let scratch = Buffer.allocUnsafeSlow(1 << 20);
/** @type {number | undefined} */
let cacheFd;
/** The compiled code in the cache file: place, length and checksum by file. @type {Map<string, number[]>} */
const cached = readContents();
let isOutdated = false;
let isServing = false;

if (cacheFile !== undefined) {
  process.once("exit", (code) => {
    // A user who has interrupted the command does not wait.
    if (code < 128) store();
  });
  setTimeout(settle, SETTLED_MS).unref();
}
// The build puts the name of the first file here.
const { start } = load("start.js");
module.exports.start = () => start({ beginServing });
void module.exports.start();

/** Runs a file of the command, unless it was loaded before. @param {string} name */
function load(name) {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const exports = {};
  loaded.set(name, exports);
  const filename = path.join(FOLDER, name);
  const text = readText(filename);
  const script = withUsualSettings(() => new Script(text, { filename, cachedData: readCompiled(name) }));
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

/** The build writes ASCII only: V8 stores such a text with one byte per character. @param {string} file */
function readText(file) {
  const fd = fs.openSync(file, "r");
  try {
    return readBytes(fd, fs.fstatSync(fd).size, 0).latin1Slice();
  } finally {
    fs.closeSync(fd);
  }
}

/** Valid until the next read. @param {number} fd @param {number} length @param {number} position */
function readBytes(fd, length, position) {
  if (length > scratch.length) scratch = Buffer.allocUnsafeSlow(length);
  let end = 0;
  while (end < length) {
    const count = fs.readSync(fd, scratch, end, length - end, position + end);
    if (count === 0) throw new Error("the file is incomplete");
    end += count;
  }
  return scratch.subarray(0, length);
}

/** The table of contents of the cache file. A name contains a hash of its content, so that the code of another build is never used. */
function readContents() {
  /** @type {Map<string, number[]>} */
  const found = new Map();
  try {
    if (cacheFile === undefined) return found;
    cacheFd = openOwnFile(cacheFile);
    if (cacheFd === undefined) return found;
    const head = readBytes(cacheFd, HEAD_BYTES, 0);
    const [length, checksum] = [head.readUInt32LE(0), head.readUInt32LE(4)];
    if (length > scratch.length) return found;
    const contents = readBytes(cacheFd, length, HEAD_BYTES);
    if (crc32(contents) !== checksum) return found;
    for (const [name, start, ...others] of JSON.parse(contents.latin1Slice()))
      found.set(name, [HEAD_BYTES + length + start, ...others]);
  } catch {
    found.clear(); // Missing or damaged: everything is compiled.
  }
  return found;
}

/** The compiled code of a file. V8 does not notice damaged code, and crashes. @param {string} name */
function readCompiled(name) {
  const place = cached.get(name);
  if (place === undefined || cacheFd === undefined) return undefined;
  const [start, length, checksum] = place;
  try {
    const bytes = readBytes(cacheFd, length, start);
    return crc32(bytes) === checksum ? bytes : undefined;
  } catch {
    return undefined;
  }
}

/** Compiled code is run without a check, so that nobody else may have written it. @param {string} file */
function openOwnFile(file) {
  const fd = fs.openSync(file, "r");
  const { uid, mode } = fs.fstatSync(fd);
  if (process.getuid === undefined || (uid === process.getuid() && (mode & 0o022) === 0)) return fd;
  fs.closeSync(fd);
  return undefined;
}

/** For a command that goes on: stores the compiled code, and frees what only a start needs. */
function settle() {
  store();
  scratch = Buffer.alloc(0);
}

/** Stores the compiled code of everything that has run. */
function store() {
  if (!isOutdated || cacheFile === undefined) return;
  withUsualSettings(storeAll);
}

function storeAll() {
  isOutdated = false;
  const places = [];
  const parts = [];
  let size = 0;
  for (const [name, script] of scripts) {
    const data = script.createCachedData();
    places.push([name, size, data.length, crc32(data)]);
    parts.push(data);
    size += data.length;
  }
  const fresh = `${cacheFile}.${process.pid}`;
  try {
    fs.mkdirSync(path.join(cacheFile, ".."), { recursive: true, mode: 0o700 });
    fs.writeFileSync(fresh, Buffer.concat([...headOf(places), ...parts]), { mode: 0o600 });
    fs.renameSync(fresh, cacheFile);
  } catch {
    // The next start compiles again. The folder may be missing, or the disk full.
    try {
      fs.rmSync(fresh, { force: true });
    } catch {}
  }
}

/** The beginning of a cache file. @param {(string | number)[][]} places */
function headOf(places) {
  const contents = Buffer.from(JSON.stringify(places), "latin1");
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(contents.length, 0);
  head.writeUInt32LE(crc32(contents), 4);
  return [head, contents];
}

/** The process serves calls from now on. */
function beginServing() {
  isServing = true;
  pretenure(false);
}

/** V8 refuses compiled code that was stored with other settings. @template T @param {() => T} work @returns {T} */
function withUsualSettings(work) {
  if (!isServing) return work();
  pretenure(true);
  try {
    return work();
  } finally {
    pretenure(false);
  }
}

/**
 * V8 creates objects in the old generation of the heap if earlier objects of the same place in the code lived long, as the first
 * ones of a gateway do. An ended call whose objects are there stays in memory until the next full collection, and so do the
 * newer objects that it refers to. With the audit log on, this made minor collections five times as long.
 * @param {boolean} isOn
 */
function pretenure(isOn) {
  const { setFlagsFromString } = process.getBuiltinModule("node:v8");
  setFlagsFromString(`--${isOn ? "" : "no-"}allocation-site-pretenuring`);
}
