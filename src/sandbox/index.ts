// Public exports of the sandbox room. The first server that needs a backend loads it.

export {
  backendFor,
  backendNamed,
  chooseMode,
  type ChosenMode,
  MODE_SOURCES,
  usualBackends,
} from "./backends.ts";
export { type Certificates, findCertificates } from "./certificates.ts";
export { type ConfigFiles, createConfigFiles, refusesWriteGrant } from "./policy/protected-paths.ts";
export type { DockerSpawnable } from "./docker/backend.ts";
export { decide as decideHost } from "./egress/allow-list.ts";
export { hiddenPaths, isOwnData, type NamedPath } from "./paths/hidden-paths.ts";
export { readOnlyPaths } from "./paths/read-only-paths.ts";
export { createPathCheck, type PathCheck, type PathProblem } from "./paths/path-check.ts";
export { createPolicy, type CreatedPolicy } from "./policy/create-policy.ts";
export { writableFolders } from "./policy/grants.ts";
export {
  programFolders,
  projectFolders,
  scriptFolders,
  scriptWord,
  workspaceFolders,
} from "./policy/program-folders.ts";
export { type Guarantee, GUARANTEES } from "./types.ts";
export type {
  BackendReport,
  SandboxPolicy,
  RuleProblem,
  Finding,
  EnforcedPolicy,
  Mount,
  SandboxBackend,
  WrapContext,
} from "./types.ts";
export {
  checkStart,
  checkWorkspaceFiles,
  CERTIFICATES_REFUSED_HINT,
  FILE_REFUSED_HINT,
  fileRefusal,
  isWritableByServers,
  secretFilesOf,
  writableByServers,
} from "./untrusted-files.ts";
export { validateSandbox } from "./validate-config.ts";
export { createWriteHistory, type WriteHistory } from "./write-history.ts";

export const loadDocker = (): Promise<typeof import("./docker/engine.ts")> => import("./docker/engine.ts");
