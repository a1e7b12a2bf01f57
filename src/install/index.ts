// Public exports of the install room. A program that is already on this machine loads none of the installers.

import type * as zip from "./archive/zip.ts";
import type * as downloads from "./download.ts";
import type * as ensure from "./ensure.ts";
import type * as files from "./files.ts";
import type * as bin from "./npm/bin.ts";
import type * as registry from "./npm/registry.ts";
import type * as pack from "./npm/pack.ts";
import type * as packages from "./npm/package.ts";
import type * as requires from "./requires.ts";
import type * as store from "./store/check-store.ts";
import type * as installed from "./store/installed-packages.ts";
import type * as root from "./store/store.ts";

export { splitCommand } from "./command-words.ts";
export type { Progress } from "./download.ts";
export { makeFolder } from "./store/make-folder.ts";
export { describeFault, type FileFault } from "./store/file-fault.ts";
export type { Inspected, Verified } from "./store/store.ts";

export const ensureInstalled: typeof ensure.ensureInstalled = async (...args) =>
  (await import("./ensure.ts")).ensureInstalled(...args);

export const installNpm: typeof packages.installNpm = async (...args) =>
  (await import("./npm/package.ts")).installNpm(...args);

export const installFile: typeof files.installFile = async (...args) =>
  (await import("./files.ts")).installFile(...args);

export const downloadNew: typeof downloads.downloadNew = async (...args) =>
  (await import("./download.ts")).downloadNew(...args);

export const readZipFile: typeof zip.readZipFile = async (...args) =>
  (await import("./archive/zip.ts")).readZipFile(...args);

export const findFile: typeof files.findFile = async (...args) =>
  (await import("./files.ts")).findFile(...args);

export const verifyFile: typeof files.verifyFile = async (...args) =>
  (await import("./files.ts")).verifyFile(...args);

export const verifyNpm: typeof packages.verifyNpm = async (...args) =>
  (await import("./npm/package.ts")).verifyNpm(...args);

export const interpreterOf: typeof bin.interpreterOf = async (...args) =>
  (await import("./npm/bin.ts")).interpreterOf(...args);

export const checkRequires: typeof requires.checkRequires = async (...args) =>
  (await import("./requires.ts")).checkRequires(...args);

export const defaultStoreRoot: typeof root.defaultStoreRoot = async () =>
  (await import("./store/store.ts")).defaultStoreRoot();

export const installedPackages: typeof installed.installedPackages = async () =>
  (await import("./store/installed-packages.ts")).installedPackages();

export const isPackageInstalled: typeof packages.isPackageInstalled = async (...args) =>
  (await import("./npm/package.ts")).isPackageInstalled(...args);

export const readDependencies: typeof packages.readDependencies = async (...args) =>
  (await import("./npm/package.ts")).readDependencies(...args);

export const inspectPackage: typeof packages.inspectPackage = async (...args) =>
  (await import("./npm/package.ts")).inspectPackage(...args);

export const findNpmUpdate: typeof packages.findNpmUpdate = async (...args) =>
  (await import("./npm/package.ts")).findNpmUpdate(...args);

export const checkStore: typeof store.checkStore = async (...args) =>
  (await import("./store/check-store.ts")).checkStore(...args);

export const packNpmPackage: typeof pack.packNpmPackage = async (...args) =>
  (await import("./npm/pack.ts")).packNpmPackage(...args);

export const findNpmRegistry: typeof registry.findNpmRegistry = async (...args) =>
  (await import("./npm/registry.ts")).findNpmRegistry(...args);
