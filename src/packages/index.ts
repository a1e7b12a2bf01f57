// Public exports of the packages room: the lock file of a workspace, packages and their origin, and pins of tool definitions.

export {
  lockFileOf,
  type LockResult,
  parseLock,
  readLock,
  renderLock,
  updateLock,
} from "./lock/lock-file.ts";
export { type Bundle, type BundleOptions, readBundle } from "./sources/bundle.ts";
export {
  compareWithLock,
  type LockDifference,
  type LockedReference,
  addAgain,
  lockProblem,
  readLockedPackage,
  restoreHint,
} from "./sources/check-lock.ts";
export { incompleteLockHint } from "./sources/document-checks.ts";
export { keepDocument, MAX_DOCUMENT_BYTES, readDocument } from "./sources/documents.ts";
export { installPackage, readInstalledDependencies, toNpmProgram } from "./sources/install-package.ts";
export {
  type LockedContext,
  openLockedMetadata,
  openLockedPackage,
  type PackageProgram,
} from "./sources/locked-program.ts";
export { checkNpmOrigin, type NpmOriginOptions } from "./sources/npm-origin.ts";
export {
  lockedSourceOf,
  optionOf,
  parseServerDocument,
  toServerDocument,
  toServerFields,
} from "./sources/official.ts";
export {
  contractsOf,
  type DriverFiles,
  findPackagedDrivers,
  packagedDriverProblem,
  readDriverFiles,
} from "./sources/packaged-driver.ts";
export { parseDocument, thisPlatform, toPackageSource } from "./sources/read-document.ts";
export { verifyLockedPackage } from "./sources/audit-installed.ts";
export type { InstalledPackage, PackageContext, PackageSource } from "./sources/types.ts";
export { type Lock, LOCK, type LockedPackage, type LockedServer } from "./lock/schema.ts";
export {
  createDefinitionStore,
  defaultDefinitionFolder,
  type DefinitionStore,
} from "./pins/definition-store.ts";
export { changedFields, type DefinitionChange, diffDefinitions } from "./pins/diff-definitions.ts";
export { findHiddenText, visibleText } from "./pins/hidden-text.ts";
export { packArchive, type PackedArchive } from "./pack/archive.ts";
export { type DocumentChange, packDocument, type PackedDocument, textIn } from "./pack/document.ts";
export { type Capabilities, type PackageFacts, toCapabilities, toModule } from "./pack/facts.ts";
export { factsOfDriver } from "./pack/from-driver.ts";
export { factsOfMcpfile, permissionsOfSandbox } from "./pack/from-mcpfile.ts";
export { factsOfNpm } from "./pack/from-npm.ts";
export { type LintFinding, lintDefinition, type LintRule } from "./pins/lint-definition.ts";
export { pinOf } from "./pins/tool-pin.ts";
export { type Certificate, parseCertificates } from "./provenance/certificate.ts";
export { checkMcpbSignature, type McpbSignatureCheck, type McpbTrust } from "./provenance/mcpb-signature.ts";
export { checkOrigin, type NpmOrigin, type OriginOptions, type OriginSource } from "./provenance/origin.ts";
export {
  compareWithRemembered,
  describeOrigin,
  type OriginCheck,
  type Proof,
  type ProofKind,
  type RememberedProofs,
  type Requirement,
  REQUIREMENTS,
  toRemembered,
  unmetRequirements,
} from "./provenance/proof.ts";
export { createTrust, loadTrust, type Trust, type TrustFiles, type TrustPaths } from "./provenance/trust.ts";
