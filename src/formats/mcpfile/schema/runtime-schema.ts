// Schema of `runtime`: how a file wants to be served.

import {
  anyValue,
  flag,
  integer,
  list,
  map,
  object,
  oneOf,
  type Schema,
  text,
  type Value,
} from "../../schema-builder/index.ts";

/** The keys of an mcpfile are in camelCase. */
export const CAMEL_CASE = { keys: "camelCase" } as const;

const texts = (description: string): Schema<readonly string[]> => list(description, text());

const HTTP_CONFIG = object(
  "For transportProtocol streamablehttp.",
  {
    port: integer("The port to listen on.", { minimum: 0 }),
    basePath: text("The path of the MCP endpoint, such as /mcp."),
    stateless: flag("No sessions."),
    auth: object(
      "Who may come in: holders of tokens of these authorities.",
      {
        authorizationServers: texts("Issuers of tokens, by URL."),
        jwksUri: text("Where their keys are."),
      },
      CAMEL_CASE,
    ),
    tls: object(
      "Serve HTTPS.",
      {
        certFile: text("a file with the certificate").required(),
        keyFile: text("a file with its key").required(),
      },
      CAMEL_CASE,
    ),
    health: object(
      "Addresses for those who watch the server.",
      {
        enabled: flag("Whether there are any."),
        livenessPath: text("Such as /healthz."),
        readinessPath: text("Such as /readyz."),
      },
      CAMEL_CASE,
    ),
  },
  {
    ...CAMEL_CASE,
    check({ port }, at) {
      if (port !== undefined && port > 65_535)
        at.error("port", `port ${port} is not a port`, "Ports end at 65535.");
    },
  },
);

const LOGGING = object(
  "What is logged, and where to.",
  {
    level: text("The least level, such as info."),
    development: flag("Logs for development."),
    disableCaller: flag("Without places in the program."),
    disableStacktrace: flag("Without stack traces."),
    encoding: oneOf("How lines are written.", ["json", "console"]),
    outputPaths: texts("Where lines go."),
    errorOutputPaths: texts("Where errors of the log itself go."),
    initialFields: map("Fields of every line.", anyValue()).withJsonSchema(() => ({ type: "object" })),
    enableMcpLogs: flag("Send logs to clients as well."),
  },
  CAMEL_CASE,
);

const CLIENT_TLS = object(
  "Whom HTTP requests of tools trust.",
  {
    caCertFiles: texts("Certificates of more authorities."),
    caCertDir: text("A folder of such certificates."),
    insecureSkipVerify: flag("Check no certificate."),
  },
  {
    ...CAMEL_CASE,
    check({ insecureSkipVerify }, at) {
      if (insecureSkipVerify === true)
        at.warn(
          "insecureSkipVerify",
          "certificates are not checked: anybody on the way can read and change requests",
        );
    },
  },
);

export const RUNTIME = object(
  "How the server is served.",
  {
    transportProtocol: oneOf("how clients reach it", ["streamablehttp", "stdio"]).required(),
    streamableHttpConfig: HTTP_CONFIG,
    stdioConfig: object("For transportProtocol stdio.", {}, CAMEL_CASE),
    loggingConfig: LOGGING,
    clientTlsConfig: CLIENT_TLS,
  },
  CAMEL_CASE,
);

/** As written: without defaults, and with paths relative to the folder of the file. */
export type McpRuntime = Value<typeof RUNTIME>;
export type StreamableHttpConfig = Value<typeof HTTP_CONFIG>;
export type LoggingConfig = Value<typeof LOGGING>;
export type ClientTlsConfig = Value<typeof CLIENT_TLS>;
