// Saves images, sounds and other bytes of a result as files: private ones in the temporary folder, or at --out.

import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, extname, join, resolve } from "node:path";
import { PortolanError } from "../../errors/index.ts";

export interface SaverOptions {
  /** A file, or a folder (one that exists, or a path that ends in a slash). */
  readonly out?: string;
  readonly force?: boolean;
  readonly cwd: string;
  readonly temporary?: string;
}

export interface Saver {
  readonly saved: readonly string[];
  /** Writes the bytes to a new file and returns its path. `stem` names the file in a folder that the user chose. */
  readonly save: (bytes: Uint8Array, mimeType: string | undefined, stem: string) => Promise<string>;
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/gif": "gif",
  "image/webp": "webp",
  "image/svg+xml": "svg",
  "image/avif": "avif",
  "audio/mpeg": "mp3",
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/ogg": "ogg",
  "audio/webm": "weba",
  "audio/flac": "flac",
  "audio/mp4": "m4a",
  "video/mp4": "mp4",
  "video/webm": "webm",
  "application/pdf": "pdf",
  "application/zip": "zip",
  "application/gzip": "gz",
  "application/json": "json",
  "text/plain": "txt",
  "text/html": "html",
  "text/css": "css",
  "text/csv": "csv",
  "text/markdown": "md",
  "text/xml": "xml",
};

/** Checks `--out` before anything runs, so that a result is never lost to a wrong path. */
export async function createSaver(options: SaverOptions): Promise<Saver> {
  const place = options.out === undefined ? undefined : await findPlace(options.out, options);
  const saved: string[] = [];
  return {
    saved,
    async save(bytes, mimeType, stem) {
      const extension = extensionOf(mimeType);
      const path =
        place === undefined
          ? await writeNew(
              () =>
                join(
                  options.temporary ?? tmpdir(),
                  `portolan-${randomBytes(6).toString("hex")}.${extension}`,
                ),
              bytes,
              0o600,
            )
          : await writeAt(place, bytes, stem, extension, saved.length, options.force === true);
      saved.push(path);
      return path;
    },
  };
}

export function extensionOf(mimeType: string | undefined): string {
  return EXTENSIONS[mimeType?.split(";")[0]?.trim().toLowerCase() ?? ""] ?? "bin";
}

interface Place {
  readonly folder: string;
  /** Absent when the user named a folder. */
  readonly file?: string;
}

async function findPlace(out: string, options: SaverOptions): Promise<Place> {
  const path = resolve(options.cwd, out);
  const found = await stat(path).catch(() => undefined);
  if (found?.isDirectory() === true) return { folder: path };
  if (/[/\\]$/.test(out)) {
    await mkdir(path, { recursive: true }).catch((cause: unknown) => {
      throw new PortolanError("USAGE", `The folder ${out} of --out cannot be created.`, {
        cause,
        hint: "Choose a folder that you can write to. No part of its path may be a file.",
      });
    });
    return { folder: path };
  }
  if (found !== undefined && options.force !== true) {
    throw new PortolanError("USAGE", `The file ${out} of --out exists already.`, {
      hint: "Add --force to overwrite the file, or choose another name.",
    });
  }
  const folder = await stat(dirname(path)).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    throw new PortolanError("USAGE", `The folder for --out ${out} does not exist.`, {
      hint: "Create the folder first.",
    });
  return { folder: dirname(path), file: basename(path) };
}

function writeAt(
  place: Place,
  bytes: Uint8Array,
  stem: string,
  extension: string,
  before: number,
  force: boolean,
): Promise<string> {
  if (place.file !== undefined && before === 0 && force)
    return writeOver(join(place.folder, place.file), bytes);
  const name = place.file ?? `${stem}.${extension}`;
  const base = basename(name, extname(name));
  return writeNew((attempt) => {
    const number = attempt + (place.file === undefined ? 1 : before + 1);
    return join(
      place.folder,
      place.file !== undefined && number === 1 ? name : `${base}-${number}${extname(name)}`,
    );
  }, bytes);
}

/** Never follows or replaces an existing file: it tries the next name instead. */
async function writeNew(
  pathOf: (attempt: number) => string,
  bytes: Uint8Array,
  mode?: number,
): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    const path = pathOf(attempt);
    const file = await open(path, "wx", mode).catch((thrown: NodeJS.ErrnoException) => {
      if (thrown.code === "EEXIST" && attempt < 10_000) return undefined;
      throw new PortolanError("USAGE", `${path} cannot be written: ${thrown.message}`, {
        cause: thrown,
        hint: "Choose another place with --out.",
      });
    });
    if (file === undefined) continue;
    try {
      await file.writeFile(bytes);
      return path;
    } catch (thrown) {
      await rm(path, { force: true });
      throw thrown;
    } finally {
      await file.close();
    }
  }
}

async function writeOver(path: string, bytes: Uint8Array): Promise<string> {
  const temporary = await writeNew(() => `${path}.${randomBytes(6).toString("hex")}.tmp`, bytes);
  try {
    await rename(temporary, path);
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
  return path;
}
