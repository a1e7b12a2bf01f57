// Public exports of the errors room.

export { ERROR_CODES, type ErrorCode, type ErrorFace } from "./codes.ts";
export type { Diagnostic, Report } from "./diagnostic.ts";
export { machineFault } from "./machine-faults.ts";
export { didYouMean, suggest } from "./suggest.ts";
export {
  changedError,
  type ErrorPlace,
  isPortolanError,
  PortolanError,
  renamedError,
  toPortolanError,
} from "./portolan-error.ts";
