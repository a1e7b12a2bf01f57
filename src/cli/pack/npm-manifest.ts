// Reads the package.json inside of the archive of an npm package.

import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { unpackTar } from "modern-tar";
import { PortolanError } from "../../errors/index.ts";

const MAX_UNPACKED = 512 * 1024 * 1024;
const MAX_MANIFEST = 1024 * 1024;

export async function readNpmManifest(archive: Buffer): Promise<unknown> {
  try {
    const tar = await promisify(gunzip)(archive, { maxOutputLength: MAX_UNPACKED });
    const [manifest] = await unpackTar(new Uint8Array(tar), {
      filter: ({ name, type, size }) =>
        /^[^/]+\/package\.json$/.test(name) && type === "file" && size <= MAX_MANIFEST,
    });
    return JSON.parse(Buffer.from(manifest?.data ?? new Uint8Array()).toString("utf8"));
  } catch (cause) {
    throw new PortolanError(
      "FILE_INVALID",
      `The package has no usable package.json: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}
