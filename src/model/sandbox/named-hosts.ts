// Hosts in the arguments and variables of a server, such as `JIRA_URL=https://jira.example.com`, each as a network rule.

import { basename } from "node:path";
import type { ServerConfig } from "../config/server-definition.ts";
import { matchesRule, parseNetworkRule } from "./network-rule.ts";

export interface NamedHost {
  /** The network rule that permits the connection: `jira.example.com`, or `db.example.com:5432`. */
  readonly rule: string;
  /** `args[1]`, `env.JIRA_URL`. */
  readonly where: string;
}

/** The usual ports of URLs that name none. A network rule without a port permits the ports of HTTP. */
const PORTS: Readonly<Record<string, number | undefined>> = {
  ...{ http: 80, https: 443, ws: 80, wss: 443 },
  ...{ postgres: 5432, postgresql: 5432, mysql: 3306, mariadb: 3306, mssql: 1433, sqlserver: 1433 },
  ...{ mongodb: 27_017, redis: 6379, rediss: 6379, neo4j: 7687, bolt: 7687, nats: 4222 },
  ...{ amqp: 5672, amqps: 5671, mqtt: 1883, mqtts: 8883, ldap: 389, ldaps: 636 },
  ...{ smtp: 25, smtps: 465, imap: 143, imaps: 993, ssh: 22, sftp: 22, ftp: 21 },
};
const HTTP_PORTS: ReadonlySet<number> = new Set([80, 443]);

/** Variables with a URL that the server does not connect to: its own address, a proxy, the registry of a package manager. */
const NOT_A_TARGET = /redirect|callback|(?:^|_)proxy$|^npm_config_|^UV_|^PIP_/i;
/** A variable with a host alone. `HOST` is usually the address that the server listens on. */
const HOST_NAME = /_HOST(?:NAME)?$|^PGHOST$/;
/** Programs whose first word is a package or script, which may be a URL. */
const RUNNERS = /^(?:npx|bunx|uvx|pipx|deno|pnpm|yarn|bun|uv|npm)$/;
const CONTAINERS = /^(?:docker|podman|nerdctl)$/;

/** The hosts of a local server that its config names and does not grant, each once. */
export function ungrantedHosts({ endpoint, launch }: Pick<ServerConfig, "endpoint" | "launch">): NamedHost[] {
  if (endpoint.transport !== "stdio" || endpoint.kind === "image" || endpoint.kind === "package") return [];
  const { args = [], env = {} } = endpoint;
  const command = endpoint.kind === "npm" ? "" : basename(endpoint.command);
  // A container has a network of its own.
  if (CONTAINERS.test(command)) return [];
  const first = RUNNERS.test(command) ? args.findIndex((word) => !word.startsWith("-")) : -1;
  const named = [
    ...args.map((word, index) => ({
      where: `args[${index}]`,
      rule: index === first ? undefined : ruleOfUrl(word.replace(/^--?[\w-]+=/, "")),
    })),
    ...Object.entries(env).map(([name, value]) => ({
      where: `env.${name}`,
      rule: NOT_A_TARGET.test(name)
        ? undefined
        : (ruleOfUrl(value) ?? (HOST_NAME.test(name) ? ruleOfHost(value, portBeside(name, env)) : undefined)),
    })),
  ];
  const granted = launch?.sandbox?.network ?? [];
  const seen = new Set<string>();
  return named.flatMap(({ rule, where }) => {
    if (rule === undefined || seen.has(rule) || isGranted(rule, granted)) return [];
    seen.add(rule);
    return [{ rule, where }];
  });
}

/** `https://jira.example.com/x` → `jira.example.com`; undefined for other texts, and for URLs without a known port. */
function ruleOfUrl(text: string): string | undefined {
  const [, scheme = "", host = "", digits] =
    /^([a-z][a-z\d]*)(?:\+[a-z\d]+)?:\/\/(?:[^/?#]*@)?(\[[\da-f:.]+\]|[^/?#@:]+)(?::(\d+))?(?:[/?#]|$)/i.exec(
      text.trim(),
    ) ?? [];
  const port = digits === undefined ? PORTS[scheme.toLowerCase()] : Number(digits);
  return port === undefined ? undefined : ruleOfHost(host, port);
}

function ruleOfHost(host: string, port: number | undefined): string | undefined {
  const hasPort = port !== undefined && !HTTP_PORTS.has(port);
  const parsed = parseNetworkRule(hasPort ? `${host}:${port}` : host);
  // `0.0.0.0` is an address to listen on.
  return parsed.ok && parsed.rule.host !== "0.0.0.0" && parsed.rule.kind !== "public"
    ? parsed.rule.text
    : undefined;
}

/** The port in `DB_PORT`, for `DB_HOST`. */
function portBeside(name: string, env: Readonly<Record<string, string>>): number | undefined {
  const port = Number(env[name.replace(/HOST(?:NAME)?$/, "PORT")]);
  return Number.isInteger(port) && port > 0 ? port : undefined;
}

function isGranted(text: string, granted: readonly string[]): boolean {
  const wanted = parseNetworkRule(text);
  return granted.some((one) => {
    const parsed = parseNetworkRule(one);
    return (
      parsed.ok &&
      wanted.ok &&
      wanted.rule.ports.some((port) => matchesRule(parsed.rule, wanted.rule.host, port))
    );
  });
}
