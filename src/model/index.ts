// Public face of the model room.

export type { DockerOption, DockerRun } from "./program/docker-run.ts";
export { type PackageSpec, parsePackageSpec } from "./program/package-spec.ts";
export { programName, type Recognised, recognise } from "./program/recognise.ts";
export { LIMIT_NAMES, limitRule, writtenSize } from "./limit-words.ts";
export { hiddenPathMessage, pathGrant } from "./hidden-path.ts";
export { idIn, isNamed, majorKey } from "./contract-name.ts";
export type {
  Binding,
  BindingField,
  Contract,
  ContractExample,
  ContractPolicy,
  CostClass,
  CostOverride,
  DeclaredDriver,
  DriverSource,
  Driver,
  DriverAuth,
  DriverError,
  DriverErrorCode,
  DriverHealthCheck,
  DriverKind,
  DriverOrigin,
  DriverPrompt,
  DriverResource,
  DriverResult,
  DriverServer,
  DriverServerAuth,
  HttpExpectation,
  MappedFrom,
  RetryRule,
  SecretEntry,
  SecretConsumer,
  SecretGrant,
  SecretOperation,
  TextPlace,
} from "./contract.ts";
export { createDeniedReport, type Denied, deniedHint, type ReportDenied } from "./denied.ts";
export {
  GATEWAY_DEFAULTS,
  type GatewayCaller,
  type GatewayLimits,
  type GatewayOAuth,
  type GatewayRate,
  type GatewaySettings,
  type GatewayTls,
  type GatewayTokenRule,
  type GatewayToolRules,
  type GatewayTransports,
  type ToolTrait,
} from "./gateway-settings.ts";
export { HEADER } from "./headers.ts";
export { isObject, type Json, type JsonObject } from "./json.ts";
export {
  evaluateJsonPath,
  type Followed,
  type JsonPath,
  type JsonPathSegment,
  type ParsedJsonPath,
  parseJsonPath,
} from "./json-path.ts";
export type {
  CallToolResult,
  CompleteResult,
  ContentBlock,
  ElicitRequest,
  ElicitResult,
  Era,
  GetPromptResult,
  Implementation,
  JsonSchema,
  LogLevel,
  LogMessage,
  Progress,
  PromptArgument,
  PromptDefinition,
  PromptMessage,
  ReadResourceResult,
  ResourceContents,
  ResourceDefinition,
  ResourceTemplateDefinition,
  Root,
  ServerCapabilities,
  ToolAnnotations,
  ToolDefinition,
} from "./mcp.ts";
export type {
  CliInvocation,
  CliPart,
  CliVariable,
  CliWord,
  ClientTls,
  HttpInvocation,
  Invocation,
  InvokedPrompt,
  InvokedResource,
  InvokedResourceTemplate,
  InvokedServer,
  InvokedTool,
  Template,
  TemplatePart,
} from "./invoked-server.ts";
export { type JsonBound, type JsonBounds, JsonScanner } from "./json-scan.ts";
export { unusedInputs, usedInputs } from "./used-inputs.ts";
export {
  canonicalHost,
  matchesRule,
  type NetworkRule,
  type ParsedNetworkRule,
  parseNetworkRule,
} from "./network-rule.ts";
export {
  escapeRefBody,
  isRefKind,
  type ParsedRef,
  parseRef,
  type Ref,
  serializeRef,
  unescapeRefBody,
} from "./ref.ts";
export {
  escapeReferences,
  fillReferences,
  findReferences,
  formatReference,
  isReferenceName,
  type ParsedReferences,
  parseReferences,
  type Reference,
} from "./references.ts";
export {
  hasMethod,
  isModernErrorCode,
  isRpcMessage,
  LEGACY_REVISION,
  LEGACY_REVISIONS,
  META,
  OUTPUT_MISMATCH,
  MODERN_REVISION,
  parseMessages,
  RPC,
  type RequestId,
  type RpcErrorObject,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from "./rpc.ts";
export {
  type InstallMethod,
  type LaunchSettings,
  type DriverModes,
  modeWords,
  withDriverMode,
  type ResourceLimits,
  type SandboxBackendName,
  type SandboxDeclaration,
  type SandboxMode,
  type VersionCheck,
} from "./sandbox.ts";
export {
  compareVersions,
  parseRange,
  parseVersion,
  satisfies,
  type Version,
  type VersionRange,
} from "./semver.ts";
export {
  type ContextRule,
  type ContractsEndpoint,
  type DeclaredEndpoint,
  type DeclaredServer,
  DEFAULT_LIMITS,
  type Endpoint,
  type EraPin,
  type HttpProgram,
  type InvokeEndpoint,
  type Limits,
  type Origin,
  type ServerDefinition,
  type StdioEndpoint,
  type UrlEndpoint,
} from "./server-definition.ts";
