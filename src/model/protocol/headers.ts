// Names of the HTTP headers that MCP defines, in lower case as Node.js delivers them.

export const HEADER = {
  SESSION_ID: "mcp-session-id",
  PROTOCOL_VERSION: "mcp-protocol-version",
  METHOD: "mcp-method",
  NAME: "mcp-name",
  LAST_EVENT_ID: "last-event-id",
} as const;
