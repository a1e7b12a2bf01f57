// The shape of `runtime`: how a file wants to be served.

import type { ObjectShape, Shape } from "../document/index.ts";

const words = (description: string): Shape => ({ type: "list", items: { type: "string" }, description });
const flag = (description: string): Shape => ({ type: "boolean", description });
const text = (description: string): Shape => ({ type: "string", description });

const HTTP_CONFIG: ObjectShape = {
  type: "object",
  description: "For transportProtocol streamablehttp.",
  fields: {
    port: { type: "number", integer: true, minimum: 0, description: "The port to listen on." },
    basePath: text("The path of the MCP endpoint, such as /mcp."),
    stateless: flag("No sessions."),
    auth: {
      type: "object",
      description: "Who may come in: holders of tokens of these authorities.",
      fields: {
        authorizationServers: words("Issuers of tokens, by URL."),
        jwksUri: text("Where their keys are."),
      },
    },
    tls: {
      type: "object",
      description: "Serve HTTPS.",
      fields: {
        certFile: { type: "string", required: true, description: "a file with the certificate" },
        keyFile: { type: "string", required: true, description: "a file with its key" },
      },
    },
    health: {
      type: "object",
      description: "Addresses for those who watch the server.",
      fields: {
        enabled: flag("Whether there are any."),
        livenessPath: text("Such as /healthz."),
        readinessPath: text("Such as /readyz."),
      },
    },
  },
};

const LOGGING: ObjectShape = {
  type: "object",
  description: "What is logged, and where to.",
  fields: {
    level: text("The least level, such as info."),
    development: flag("Logs for development."),
    disableCaller: flag("Without places in the program."),
    disableStacktrace: flag("Without stack traces."),
    encoding: { type: "string", enum: ["json", "console"], description: "How lines are written." },
    outputPaths: words("Where lines go."),
    errorOutputPaths: words("Where errors of the log itself go."),
    initialFields: { type: "map", values: { type: "string" }, description: "Fields of every line." },
    enableMcpLogs: flag("Send logs to clients as well."),
  },
};

export const RUNTIME_SHAPE: ObjectShape = {
  type: "object",
  description: "How the server is served.",
  fields: {
    transportProtocol: {
      type: "string",
      required: true,
      enum: ["streamablehttp", "stdio"],
      description: "how clients reach it",
    },
    streamableHttpConfig: HTTP_CONFIG,
    stdioConfig: { type: "object", description: "For transportProtocol stdio.", fields: {} },
    loggingConfig: LOGGING,
    clientTlsConfig: {
      type: "object",
      description: "Whom HTTP requests of tools trust.",
      fields: {
        caCertFiles: words("Certificates of more authorities."),
        caCertDir: text("A folder of such certificates."),
        insecureSkipVerify: flag("Check no certificate."),
      },
    },
  },
};
