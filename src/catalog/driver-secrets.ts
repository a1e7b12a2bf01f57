// Which secrets a workspace knows and who may have each: its own inventory, then what drivers bring or refer to.

import { realpath } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { Diagnostic } from "../errors/index.ts";
import type { SecretEntry } from "../model/index.ts";
import { below, type DriverReader, isFile } from "./driver-reader.ts";
import { driverFormats } from "./formats.ts";

/** A file that a driver names, such as a SECRETS.md with `auth.ref`. */
export interface SecretsRef {
  /** The DRIVER.md that names it. */
  readonly file: string;
  readonly path: string;
  readonly line: number;
  readonly column: number;
}

/** `drivers` are their files. */
export async function readSecrets(
  top: string,
  drivers: readonly string[],
  refs: readonly SecretsRef[],
  reader: DriverReader,
): Promise<SecretEntry[]> {
  const { envOfSlug, mergeSecrets } = await driverFormats();
  const read = async (files: readonly string[]): Promise<SecretEntry[][]> => {
    const lists = await Promise.all([...new Set(files)].map((file) => readSecretsFile(file, reader)));
    return lists.flatMap((list) => (list === undefined ? [] : [[...list]]));
  };
  const shared = join(top, ".secrets");
  const ownFiles = [join(shared, "SECRETS.md"), ...(await below(shared, "SECRETS.md"))];
  const referred = await Promise.all(refs.map((ref) => findRef(ref, top, reader, AUTH_REF)));
  const own = await read(ownFiles);
  const brought = await read(
    [...drivers.map((file) => join(dirname(file), "SECRETS.md")), ...referred.flat()].filter(
      (file) => !ownFiles.includes(file),
    ),
  );
  const namesOf = ({ slug, envNames }: SecretEntry): string[] => [slug, envOfSlug(slug) ?? slug, ...envNames];
  // Who may have a secret that the workspace lists is for the workspace to say, whatever a driver calls it.
  const taken = new Set(own.flat().flatMap(namesOf));
  const allowed = brought.map((list) =>
    list.filter((entry) => {
      const name = namesOf(entry).find((one) => taken.has(one));
      if (name === undefined) return true;
      const { file, line, column } = entry.origin;
      const message = `the secret ${entry.slug} is not used: ${name} is in the workspace's own inventory`;
      const hint = "Grant it there, in .secrets/SECRETS.md, or give this one names of its own.";
      reader.diagnostics.push({
        code: "NAME_AMBIGUOUS",
        severity: "error",
        message,
        file,
        line,
        column,
        hint,
      });
      return false;
    }),
  );
  const merged = mergeSecrets([...own, ...allowed]);
  reader.diagnostics.push(...merged.diagnostics);
  return [...merged.secrets];
}

export async function readSecretsFile(
  file: string,
  reader: DriverReader,
): Promise<readonly SecretEntry[] | undefined> {
  const { parseSecrets } = await driverFormats();
  return reader.parse(file, "secrets", async (text) => {
    const { secrets, diagnostics } = parseSecrets(text, file);
    const valid = !diagnostics.some(({ severity }) => severity === "error");
    return { value: valid ? secrets : undefined, diagnostics };
  });
}

/** What is meant by a reference: the field, the file's name, and what to say of one that lies outside. */
export interface RefKind {
  readonly field: string;
  readonly name: string;
  readonly move: string;
}

const AUTH_REF: RefKind = {
  field: "auth.ref",
  name: "SECRETS.md",
  move: "Keep the SECRETS.md in the workspace; the values of secrets are elsewhere in any case.",
};

/** From the driver's folder, or else from the workspace; never from outside of it, however the path leads there. */
export async function findRef(
  ref: SecretsRef,
  top: string,
  reader: DriverReader,
  { field, name, move }: RefKind,
): Promise<string[]> {
  const { file, line, column, path } = ref;
  const refuse = (message: string, hint: string): string[] => {
    const finding = { code: "FILE_FAILED", severity: "error", message, file, line, column, hint } as const;
    reader.diagnostics.push(finding satisfies Diagnostic);
    return [];
  };
  const paths = [dirname(file), top].map((base) =>
    /\.md$/i.test(path) ? resolve(base, path) : resolve(base, path, name),
  );
  const inside = [...new Set(paths)].filter((one) => isBelow(one, top));
  const outside = `${field} ${path} is outside of the workspace, and is not read`;
  if (inside.length === 0) return refuse(outside, move);
  const there = await Promise.all(inside.map(isFile));
  const found = inside.find((_, index) => there[index]);
  if (found === undefined) {
    reader.missing.push(...inside);
    const hint = `Write it, or correct the path: it is looked for from the folder of this file, then from the workspace.`;
    return refuse(`${field} ${path} is not there`, hint);
  }
  const [real, root] = await Promise.all([found, top].map((one) => realpath(one).catch(() => undefined)));
  return real === undefined || root === undefined || !isBelow(real, root) ? refuse(outside, move) : [found];
}

export function isBelow(file: string, folder: string): boolean {
  const path = relative(folder, file);
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}
