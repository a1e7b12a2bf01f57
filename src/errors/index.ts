// Public exports of the errors room.

export { callbackFailed, guardCallback } from "./callbacks.ts";
export { ERROR_CODES, type ErrorCode, type ErrorProperties, MAY_HAVE_RUN, NOT_MADE } from "./codes.ts";
export { type Diagnostic, hintedMessage, locatedMessage, type Report, withoutFile } from "./diagnostic.ts";
export {
  checkOptions,
  hintOf,
  OPTION_KINDS,
  type OptionKind,
  type OptionTable,
  optionsError,
  problemsOf,
} from "./options.ts";
export {
  changedError,
  type ErrorPlace,
  isPortolanError,
  machineFault,
  PortolanError,
  renamedError,
  toPortolanError,
} from "./portolan-error.ts";
export { askAbout, didYouMean, suggest } from "./suggest.ts";
export {
  certificateHint,
  CALL_TIMEOUT_HINT,
  cannotListen,
  disabledHint,
  invalidArguments,
  invalidArgumentsText,
  type MissingValue,
  missingSecrets,
  noServers,
  packageNotFound,
  SLOW_SERVER_HINT,
  START_TIMEOUT_HINT,
  unknownPrompt,
  unknownResource,
  unknownServer,
  unknownTool,
} from "./wordings.ts";
