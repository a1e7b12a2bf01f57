// Checks a path or a file URI among a call's arguments against the box, before the call is forwarded: however it is read, it must stay inside.

import { realpath } from "node:fs/promises";
import { dirname, join, resolve, sep } from "node:path";
import type { Box } from "../types.ts";
import { expandHome, isInside } from "./paths.ts";

const MAX_LENGTH = 4096;
const ENCODED_SEPARATOR = /%(?:2f|5c|00)/i;
/** A percent sign, encoded, before what would be an escape once more. */
const ENCODED_TWICE = /%25[\da-f]{2}/i;

/** What is wrong with the value, or undefined. */
export type PathCheck = (value: string) => Promise<string | undefined>;

export function createPathCheck(box: Box): PathCheck {
  const cwd = box.cwd ?? box.home;
  let places: Promise<Places> | undefined;
  return async (value) => {
    const read = readings(value, box.home);
    if (typeof read === "string") return read;
    places ??= placesOf(box);
    const { visible, hidden, own } = await places;
    for (const reading of read) {
      const absolute = reading.startsWith(sep) ? reading : `${cwd}${sep}${reading}`;
      const walked = await walk(absolute);
      // As text, and as the system walks it: they differ where `..` follows a link.
      for (const path of [resolve(absolute), walked.path]) {
        if (hidden.some((folder) => isInside(path, folder))) return "is hidden from this server";
        const isGiven = visible.some((folder) => isInside(path, folder));
        const isOwn = own.some((folder) => isInside(path, folder) && isInside(folder, walked.existing));
        if (!isGiven && !isOwn) return "is outside of the folders that this server is given";
      }
    }
    return undefined;
  };
}

/** The paths that programs could take it for; empty for what is none, a text for what is refused as it stands. */
function readings(value: string, home: string): string[] | string {
  if (value.includes("\0")) return "has a NUL character in it";
  if (value.length > MAX_LENGTH) return "is too long for a path";
  const scheme = /^([a-z][\d+.a-z-]+):/i.exec(value)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== "file") {
    // A program that takes it for a path, nevertheless, must not be led upwards.
    return leadsUp(value) ? "leads out of its folder" : [];
  }
  if (ENCODED_SEPARATOR.test(value)) return "has an encoded separator in it";
  if (ENCODED_TWICE.test(value)) return "is encoded twice";
  if (/^~[a-z_]/i.test(value)) return "names the home of a user";
  const path = scheme === "file" ? pathOfUri(value) : value;
  if (path === undefined) return "is not a file URI of this machine";
  const decoded = decode(path);
  if (decoded === undefined && scheme === "file") return "is not a well-formed URI";
  if (decoded?.includes("\0") === true) return "has a NUL character in it";
  const found = [path, decoded ?? path].flatMap((one) => [one, one.replaceAll("\\", "/")]);
  return [...new Set([...found, ...found.map((one) => expandHome(one, home))])];
}

/** `file:/path`, `file:///path`, `file://localhost/path`; a query or a fragment is taken for a part of the name, as simple programs do. */
function pathOfUri(uri: string): string | undefined {
  const rest = uri.slice("file:".length);
  const path = rest.startsWith("//") ? /^\/\/(?:localhost)?(\/.*)$/is.exec(rest)?.[1] : rest;
  // Four slashes and more: another machine's name, to some.
  return path?.startsWith("/") === true && !path.startsWith("//") ? path : undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Whether there are more `..` in it than names for them to take back. */
function leadsUp(value: string): boolean {
  let depth = 0;
  for (const name of (decode(value) ?? value).split(/[/\\]+/)) {
    depth += name === ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

interface Walked {
  /** Where the system would arrive; names that do not exist are taken as they are. */
  readonly path: string;
  /** How far of it there is something. */
  readonly existing: string;
}

async function walk(path: string): Promise<Walked> {
  let at: string = sep;
  let existing: string = sep;
  for (const name of path.split(sep)) {
    if (name === "" || name === ".") continue;
    const next = name === ".." ? dirname(at) : join(at, name);
    const real = await realpath(next).catch(() => undefined);
    at = real ?? next;
    existing = real ?? existing;
  }
  return { path: at, existing };
}

interface Places {
  readonly visible: readonly string[];
  readonly hidden: readonly string[];
  /** The box's own HOME and /tmp. What this machine has in its own is not meant, and is not there. */
  readonly own: readonly string[];
}

async function placesOf({ mounts, home }: Box): Promise<Places> {
  const both = async (paths: readonly string[]): Promise<string[]> => {
    const real = await Promise.all(paths.map((path) => realpath(path).catch(() => path)));
    return [...new Set([...paths, ...real])];
  };
  const granted = mounts.filter(({ access }) => access !== "hidden");
  const hidden = mounts.filter(({ access }) => access === "hidden");
  return {
    visible: await both(granted.map(({ path }) => path)),
    hidden: await both(hidden.map(({ path }) => path)),
    own: await both([home, "/tmp"]),
  };
}
