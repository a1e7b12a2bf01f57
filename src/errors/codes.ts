// Table of all error codes: exit status, HTTP status, JSON-RPC code and default hint of each. Codes are stable.

export interface ErrorProperties {
  /** Exit status of the `portolan` command. */
  readonly exit: number;
  /** Status when the error answers an HTTP request. */
  readonly http: number;
  /** Code when the error answers a JSON-RPC request. */
  readonly jsonrpc: number;
  /** Default hint: the next step for the user. */
  readonly hint: string;
}

/** The stable codes of errors and diagnostics; docs/reference/errors.md explains each. */
export type ErrorCode =
  | "CONFIG_INVALID"
  | "FILE_INVALID"
  | "SECRET_MISSING"
  | "SECRET_STORE_FAILED"
  | "SERVER_UNKNOWN"
  | "NAME_AMBIGUOUS"
  | "FILE_FAILED"
  | "FILE_UNTRUSTED"
  | "AUDIT_DAMAGED"
  | "AUDIT_FAILED"
  | "APPROVAL_UNKNOWN"
  | "USAGE"
  | "TARGET_INVALID"
  | "INPUT_INVALID"
  | "TOOL_NOT_FOUND"
  | "TOOL_WITHHELD"
  | "PROMPT_NOT_FOUND"
  | "RESOURCE_NOT_FOUND"
  | "NOT_SUPPORTED"
  | "TOOL_FAILED"
  | "RPC_ERROR"
  | "OUTPUT_INVALID"
  | "SERVER_START_FAILED"
  | "SERVER_CRASHED"
  | "SANDBOX_UNAVAILABLE"
  | "SANDBOX_DENIED"
  | "HOST_UNREACHABLE"
  | "PACKAGE_NOT_FOUND"
  | "INSTALL_FAILED"
  | "VERSION_MISMATCH"
  | "VERSION_VULNERABLE"
  | "PLATFORM_UNSUPPORTED"
  | "SERVER_UNAVAILABLE"
  | "SERVER_DISABLED"
  | "CONNECTION_LOST"
  | "CONNECTION_CLOSED"
  | "SESSION_LOST"
  | "HTTP_ERROR"
  | "AUTH_REQUIRED"
  | "AUTH_UNAVAILABLE"
  | "AUTH_FAILED"
  | "FORBIDDEN"
  | "RATE_LIMITED"
  | "TIMEOUT"
  | "CANCELLED"
  | "BUSY"
  | "MESSAGE_TOO_LARGE"
  | "PROTOCOL_ERROR"
  | "VERSION_UNSUPPORTED"
  | "CAPABILITY_MISSING"
  | "TOO_MANY_ROUNDS"
  | "SCHEMA_UNSUPPORTED"
  | "TOOL_DROPPED"
  | "CALLBACK_FAILED"
  | "INTERNAL";

const entry = (exit: number, http: number, jsonrpc: number, hint: string): ErrorProperties => ({
  exit,
  http,
  jsonrpc,
  hint,
});

/** For a call that may have reached its server. */
export const MAY_HAVE_RUN =
  "The call may or may not have taken effect; check this before you repeat the call.";

/** For a call that Portolan refused, or could not make. */
export const NOT_MADE = "The call was not made; the message gives the reason.";

/** Exit status: 1 the tool failed, 2 wrong usage or input, 3 server unavailable, 4 protocol violated, 5 access denied, 124 timeout, 130 interrupted. */
export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorProperties>> = {
  CONFIG_INVALID: entry(2, 400, -32602, "Correct the setting that the message names."),
  FILE_INVALID: entry(2, 400, -32602, "Correct the lines of the file that the message names."),
  SECRET_MISSING: entry(
    2,
    500,
    -32603,
    "Set the secret that the message names: portolan secrets set <name>.",
  ),
  SECRET_STORE_FAILED: entry(2, 500, -32603, "Check the secret store: portolan secrets check."),
  SERVER_UNKNOWN: entry(2, 404, -32602, "Run portolan status to see the servers of this workspace."),
  NAME_AMBIGUOUS: entry(
    2,
    409,
    -32602,
    "Give one of the servers another alias, or change the naming template.",
  ),
  FILE_FAILED: entry(
    2,
    500,
    -32603,
    "Check that the file exists and that its permissions allow reading and writing.",
  ),
  FILE_UNTRUSTED: entry(
    2,
    403,
    -32603,
    "Read the file. If its change is right, stop the gateway (portolan stop) and start it again.",
  ),
  AUDIT_DAMAGED: entry(2, 500, -32603, "See which records are affected: portolan audit calls --verify."),
  AUDIT_FAILED: entry(2, 500, -32603, "See why the audit log cannot be written: portolan status."),
  APPROVAL_UNKNOWN: entry(2, 404, -32602, "List the calls that wait for approval: portolan approve."),
  USAGE: entry(2, 400, -32602, "Run the same command with --help to see its arguments and options."),
  TARGET_INVALID: entry(
    2,
    400,
    -32602,
    "A target is a server alias, a config file, a URL, a quoted command, or a command after --.",
  ),
  INPUT_INVALID: entry(
    2,
    400,
    -32602,
    "Correct the fields that the message names; the tool's inputSchema describes them.",
  ),
  TOOL_NOT_FOUND: entry(2, 404, -32602, "List the server's tools to see their names."),
  TOOL_WITHHELD: entry(
    5,
    403,
    -32602,
    "Review the tool: portolan pins diff <server>. Approve it: portolan pins approve <server> <tool>.",
  ),
  PROMPT_NOT_FOUND: entry(2, 404, -32602, "List the prompts to see their names."),
  RESOURCE_NOT_FOUND: entry(2, 404, -32602, "List the resources to see their URIs."),
  NOT_SUPPORTED: entry(
    2,
    404,
    -32601,
    "The requested operation is not supported; the message gives the reason.",
  ),
  TOOL_FAILED: entry(1, 200, -32603, "The tool ran and failed; its message gives the reason."),
  RPC_ERROR: entry(1, 502, -32603, "The server refused the request; its message gives the reason."),
  OUTPUT_INVALID: entry(
    4,
    502,
    -32603,
    "The result does not match the tool's outputSchema; report this to the server's author.",
  ),
  SERVER_START_FAILED: entry(
    3,
    502,
    -32603,
    "To see why the server fails, start its command alone in a terminal, and read what it prints.",
  ),
  SANDBOX_UNAVAILABLE: entry(3, 502, -32603, "Run portolan doctor to see what this machine can enforce."),
  SANDBOX_DENIED: entry(
    2,
    403,
    -32602,
    "If the server needs this access, grant it under sandbox in the server's config.",
  ),
  HOST_UNREACHABLE: entry(
    3,
    502,
    -32603,
    "The sandbox allows this host. Check the name of the host, and the network of this machine.",
  ),
  PACKAGE_NOT_FOUND: entry(
    3,
    404,
    -32603,
    "Check the name and the version of the package: portolan search <words>.",
  ),
  INSTALL_FAILED: entry(3, 502, -32603, "Check the package's name and version, and the network."),
  VERSION_MISMATCH: entry(3, 502, -32603, "Install a version in the range that the config file requires."),
  VERSION_VULNERABLE: entry(
    5,
    403,
    -32603,
    "Update to a version without the vulnerability: portolan update.",
  ),
  PLATFORM_UNSUPPORTED: entry(
    3,
    502,
    -32603,
    "Use a server that supports this operating system and processor.",
  ),
  SERVER_CRASHED: entry(3, 502, -32603, MAY_HAVE_RUN),
  SERVER_UNAVAILABLE: entry(
    3,
    503,
    -32603,
    "Portolan starts the server again later. See the reason: portolan status.",
  ),
  SERVER_DISABLED: entry(3, 503, -32603, "Enable the server in its config file."),
  CONNECTION_LOST: entry(3, 502, -32603, MAY_HAVE_RUN),
  CONNECTION_CLOSED: entry(
    3,
    503,
    -32603,
    "Connect again. A running call may have taken effect; check this before you repeat the call.",
  ),
  SESSION_LOST: entry(
    3,
    502,
    -32603,
    "The server forgot the session twice in a row. The call did not run; call again.",
  ),
  HTTP_ERROR: entry(3, 502, -32603, "Check the URL, and whether the server at this URL works."),
  AUTH_REQUIRED: entry(5, 401, -32603, "Send a valid credential, for example an Authorization header."),
  AUTH_UNAVAILABLE: entry(3, 503, -32603, "The credential was not checked; try again later."),
  AUTH_FAILED: entry(
    5,
    502,
    -32603,
    "Ask the operator of the server, or of its authorization server, for the reason.",
  ),
  FORBIDDEN: entry(5, 403, -32603, "Ask the operator of the server for access."),
  RATE_LIMITED: entry(3, 429, -32603, "Wait for the time that the server requests, then try again."),
  TIMEOUT: entry(124, 504, -32603, MAY_HAVE_RUN),
  CANCELLED: entry(
    130,
    499,
    -32603,
    "If a call was running, it may have taken effect; check this before you repeat the call.",
  ),
  BUSY: entry(
    3,
    503,
    -32603,
    "The call was not made. Wait, then call again; send fewer requests at the same time.",
  ),
  MESSAGE_TOO_LARGE: entry(
    4,
    502,
    -32603,
    "Request less data, or raise the server's max_message_bytes (in a program: limits.maxMessageBytes).",
  ),
  PROTOCOL_ERROR: entry(
    4,
    502,
    -32603,
    "Check that the URL or command is an MCP server. If it is, report the error to the server's author.",
  ),
  VERSION_UNSUPPORTED: entry(
    4,
    502,
    -32022,
    "Portolan and the server have no protocol revision in common; update the older one.",
  ),
  CAPABILITY_MISSING: entry(4, 400, -32021, "Register a handler for this kind of server request."),
  TOO_MANY_ROUNDS: entry(
    4,
    502,
    -32603,
    "The server keeps sending requests without finishing. Report this to the author of the server.",
  ),
  SCHEMA_UNSUPPORTED: entry(
    4,
    502,
    -32603,
    "Portolan omits the check that the message names. The server can still check its input itself.",
  ),
  TOOL_DROPPED: entry(4, 502, -32603, "Report the malformed definition to the server's author."),
  CALLBACK_FAILED: entry(
    1,
    500,
    -32603,
    "Correct the function in your program; Portolan continued without its result.",
  ),
  INTERNAL: entry(70, 500, -32603, "This is a bug in Portolan; please report it to Portolan's authors."),
};
