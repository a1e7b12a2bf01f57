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
  "Settings for transportProtocol streamablehttp.",
  {
    port: integer("TCP port to listen on. portolan serve --port overrides it.", { minimum: 0 }),
    basePath: text("URL path of the MCP endpoint. Ignored by Portolan, which always uses /mcp."),
    stateless: flag("If true, the server keeps no sessions. Ignored by Portolan."),
    auth: object(
      "OAuth settings for clients. Ignored by Portolan: use gateway.oauth of portolan.yaml.",
      {
        authorizationServers: texts("Issuer URLs of the accepted tokens."),
        jwksUri: text("URL of the JSON Web Key Set of the issuers."),
      },
      CAMEL_CASE,
    ),
    tls: object(
      "Certificate and key, to serve HTTPS.",
      {
        certFile: text("Path of the certificate file (PEM), relative to this file.").required(),
        keyFile: text("Path of the private key file (PEM), relative to this file.").required(),
      },
      CAMEL_CASE,
    ),
    health: object(
      "Health endpoints. Ignored by Portolan, which always serves /healthz and /readyz.",
      {
        enabled: flag("If true, the server has health endpoints."),
        livenessPath: text("URL path of the liveness endpoint, such as /healthz."),
        readinessPath: text("URL path of the readiness endpoint, such as /readyz."),
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
  "Log settings. Ignored by Portolan, which has its own log settings.",
  {
    level: text("Minimum log level, such as info."),
    development: flag("If true, use the development format."),
    disableCaller: flag("If true, log lines omit the source location."),
    disableStacktrace: flag("If true, log lines omit stack traces."),
    encoding: oneOf("Format of log lines.", ["json", "console"]),
    outputPaths: texts("Destinations of log lines, such as stdout or a file."),
    errorOutputPaths: texts("Destinations of errors of the logger itself."),
    initialFields: map("Fields that are added to every log line.", anyValue()).withJsonSchema(() => ({
      type: "object",
    })),
    enableMcpLogs: flag("If true, also send logs to MCP clients."),
  },
  CAMEL_CASE,
);

const CLIENT_TLS = object(
  "TLS settings for the HTTP requests of tools.",
  {
    caCertFiles: texts("Paths of additional CA certificates (PEM), relative to this file."),
    caCertDir: text("Path of a folder with additional CA certificates, relative to this file."),
    insecureSkipVerify: flag("If true, certificates are not verified. Portolan warns about it."),
  },
  {
    ...CAMEL_CASE,
    check({ insecureSkipVerify }, at) {
      if (insecureSkipVerify === true)
        at.warn(
          "insecureSkipVerify",
          "certificates are not checked: anyone on the network can read and change requests",
        );
    },
  },
);

export const RUNTIME = object(
  "Settings for serving the server.",
  {
    transportProtocol: oneOf("Transport for clients. With stdio, use portolan serve --stdio.", [
      "streamablehttp",
      "stdio",
    ]).required(),
    streamableHttpConfig: HTTP_CONFIG,
    stdioConfig: object("Settings for transportProtocol stdio. It has no fields.", {}, CAMEL_CASE),
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
