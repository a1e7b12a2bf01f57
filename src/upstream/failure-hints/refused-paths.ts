// Paths that a server needs and its sandbox refuses: finds them in texts, and says what grants them.

import { statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import type { LaunchNews } from "../../launch/index.ts";
import {
  type DeniedPath,
  hiddenPathMessage,
  isSystemPath,
  MISSING_SCRIPT_HINT,
  needsWrite,
  ownFoldersHint,
  pathGrant,
  pathGrantCommand,
  pathGrantHint,
  privatePathText,
  type RefusedPath,
} from "../../model/index.ts";
import type { NamedPath } from "../../sandbox/index.ts";
import { failedPaths, refusedRelativePaths, reportsRefusedWrite } from "./failed-access.ts";
import { meantPaths } from "./private-home.ts";
import type { Denial } from "./result-denials.ts";

/** The number of paths that are examined at once, and reported for one server. */
export const MAX_HIDDEN = 20;

export type FailedPath = NamedPath & Pick<DeniedPath, "isForReading" | "inPrivateHome">;

/** A path that the sandbox of a server hides or protects, and the command that grants it. */
export interface PathDenial extends Denial {
  readonly path: string;
  readonly access: "read" | "write";
}

export interface RefusedPathsOptions {
  readonly server: string;
  /** The command that grants more to this server, up to its options. */
  readonly command: string | undefined;
  /** The file and line of its config. */
  readonly place: string | undefined;
  /** About a server that would write its data into its program folder, which a sandbox protects. */
  readonly dataFile: { readonly message: string; readonly hint: string } | undefined;
}

type Planned = Extract<LaunchNews, { type: "planned" }>;

export class RefusedPaths {
  readonly #options: RefusedPathsOptions;
  #planned: Planned | undefined;

  constructor(options: RefusedPathsOptions) {
    this.#options = options;
  }

  /** The start of the server, with its sandbox. Until then, no path is refused. */
  set planned(planned: Planned) {
    this.#planned = planned;
  }

  /** `isOutside`: the server itself refuses the path, so that a grant alone does not help. */
  toDenial(named: FailedPath, isOutside = false): PathDenial {
    const { server, command, dataFile } = this.#options;
    const { isNew, isForReading } = named;
    const own = isOutside ? { ...this.refused(named.path), isNew, isForReading } : undefined;
    const denied = {
      ...{ ...this.withConfigured(named), isForReading },
      ...(own?.folder === undefined ? {} : { grant: own.folder }),
    };
    const isTooWide = own !== undefined && own.folder === undefined && isNew === true;
    const grant = isTooWide ? undefined : pathGrantCommand(denied, command);
    const message = hiddenPathMessage(server, denied);
    const elsewhere = denied.protectedAs === undefined ? undefined : dataFile?.hint;
    const hint =
      elsewhere ??
      (own === undefined ? pathGrantHint(denied, command) : ownFoldersHint(own, command, denied));
    const access = needsWrite(denied) || denied.protectedAs !== undefined ? "write" : "read";
    return { path: denied.path, access, message, ...(grant && { grant }), hint };
  }

  /** A named caller of a gateway must not learn the home folder of the operator. */
  asWritten({ inPrivateHome, where }: FailedPath, denial: PathDenial): PathDenial {
    if (inPrivateHome === undefined) return denial;
    const { written: path } = inPrivateHome;
    const { server } = this.#options;
    return { ...denial, path, message: hiddenPathMessage(server, { path, where, inPrivateHome }) };
  }

  /** With the folder that the server would have to be started with, because it refuses the path itself. */
  refused<P extends string | undefined>(path: P): RefusedPath & { readonly path: P } {
    const { place } = this.#options;
    const folder = path && folderOf(path);
    return { path, folder: folder && this.#isAroundWorkspace(folder) ? undefined : folder, place };
  }

  #isAroundWorkspace(path: string): boolean {
    const { place } = this.#options;
    return place !== undefined && `${dirname(place)}/`.startsWith(`${path}/`);
  }

  hiddenIn(words: readonly string[]): readonly NamedPath[] {
    return words.length === 0 ? [] : (this.#planned?.hiddenAmong?.(words.slice(0, MAX_HIDDEN)) ?? []);
  }

  /** A server often prints its HOME and /tmp. It has folders of these names, so that they are no failures. */
  failedIn(text: string): readonly FailedPath[] {
    const { home, cwd } = this.#planned?.plan.sandbox.policy ?? {};
    const own = [home, "/tmp"];
    const relative = cwd === undefined ? [] : refusedRelativePaths(text).map((path) => resolve(cwd, path));
    const paths = [...failedPaths(text).filter((path) => !own.includes(path)), ...relative];
    const isRefusedWrite = paths.length > 0 && reportsRefusedWrite(text);
    const refused = isRefusedWrite ? (this.#planned?.readOnlyAmong?.(paths) ?? []) : [];
    return [...this.hiddenIn(paths), ...refused, ...this.#meantIn(paths)];
  }

  /** Hidden paths of the user that paths in the private home of the sandbox probably mean. */
  #meantIn(paths: readonly string[]): readonly FailedPath[] {
    if (this.#planned === undefined) return [];
    return meantPaths(paths, this.#planned.plan.sandbox.policy).flatMap((meant) =>
      this.hiddenIn([meant.path]).map((one) => ({ ...one, ...meant })),
    );
  }

  /** The path that the config names is the one to grant, in place of a single file in it. */
  withConfigured(found: FailedPath): FailedPath & Pick<DeniedPath, "granted" | "isWorkspace"> {
    const { plan, fs: granted } = this.#planned ?? {};
    const named = { ...found, ...(granted && { granted }) };
    // The data file that the config names, in a folder with other files.
    const own = plan?.notGranted.find(({ path, isShared }) => path === named.path && isShared === true);
    if (own !== undefined) return { ...named, grant: own.grant, ownFile: own.ownFile, ownData: own.ownData };
    const around = plan?.notGranted.find(({ path }) => named.path.startsWith(`${path}/`));
    if (around !== undefined)
      return { ...named, isNew: undefined, isNewFolder: undefined, grant: around.path };
    // A path that the config itself names is what the user wants.
    const isConfigured = plan?.notGranted.some(({ path }) => path === named.path) === true;
    const isWide = !isConfigured && this.#isAroundWorkspace(named.grant ?? named.path);
    return isWide ? { ...named, isWorkspace: true } : named;
  }
}

/** The folder that a server would be started with, to use this path. */
function folderOf(path: string): string | undefined {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true ? path : dirname(path);
  const isUsable = /^~?\//.test(folder) && ![homedir(), "/tmp"].includes(folder) && !isSystemPath(folder);
  return isUsable ? folder : undefined;
}

/** For the error of a failed start or call. */
export function hiddenHint(denied: FailedPath | undefined, command: string | undefined): string | undefined {
  if (denied === undefined) return undefined;
  const { path, isNew, isScript, isReadOnly, protectedAs, inPrivateHome } = denied;
  if (inPrivateHome !== undefined)
    return `${privatePathText(inPrivateHome, path)}. ${pathGrantHint(denied, command)}`;
  if (isNew === true && isScript === true) return `There is no file ${path}. ${MISSING_SCRIPT_HINT}`;
  if (protectedAs !== undefined)
    return `The sandbox never lets the server change ${path}, which is ${protectedAs}.`;
  const what = isReadOnly === true ? `grants ${path} for reading only` : `hides ${path}`;
  const how = pathGrant(denied, command);
  return how === undefined
    ? `The sandbox ${what}. ${pathGrantHint(denied, command)}`
    : `The sandbox ${what}; grant it with: ${how}`;
}
