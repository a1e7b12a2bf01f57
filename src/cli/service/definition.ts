// Definitions of the gateway as a service: a systemd user unit, and a launchd property list.

import { createHash } from "node:crypto";
import { basename } from "node:path";

export interface ServiceDefinition {
  /** The name of the unit, or the label of launchd. */
  readonly name: string;
  /** The workspace, for people. */
  readonly path: string;
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  /** launchd writes the output there; systemd has its journal. */
  readonly log: string;
}

/** The same for the same path, and readable. */
export function serviceName(path: string): string {
  const readable = basename(path)
    .replaceAll(/[^A-Za-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 40);
  const hash = createHash("sha256").update(path).digest("hex").slice(0, 8);
  return ["portolan", readable.toLowerCase(), hash].filter((part) => part !== "").join("-");
}

/** Throws nothing: every character of a path can be written. */
export function systemdUnit({ path, words, folder, env }: ServiceDefinition): string {
  const environment = Object.entries(env).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`);
  return `[Unit]
Description=Portolan gateway of ${specifiers(oneLine(path))}

[Service]
Type=exec
ExecStart=${words.map((word) => quoted(word).replaceAll("$", "$$$$")).join(" ")}
ExecReload=/bin/kill -HUP $MAINPID
WorkingDirectory=${specifiers(folder)}
${environment.join("\n")}
Restart=on-failure
RestartSec=5
# Exit code 2: wrong options, a config that cannot be used, or a port that is taken. Another start would fail in the same way.
RestartPreventExitStatus=2
# The gateway stops its servers itself, in less than five seconds.
KillMode=mixed
TimeoutStopSec=15

[Install]
WantedBy=default.target
`;
}

/** systemd expands % in every value. */
function specifiers(text: string): string {
  return text.replaceAll("%", "%%");
}

function quoted(text: string): string {
  const escaped = text
    .replaceAll("\\", "\\\\")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replaceAll("\t", "\\t");
  return `"${specifiers(escaped)}"`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}

export function launchdPlist({ name, words, folder, env, log }: ServiceDefinition): string {
  const string = (text: string): string => `<string>${xml(text)}</string>`;
  const variables = Object.entries(env).map(([key, value]) => `    <key>${xml(key)}</key>${string(value)}`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${string(name)}
  <key>ProgramArguments</key>
  <array>
${words.map((word) => `    ${string(word)}`).join("\n")}
  </array>
  <key>WorkingDirectory</key>${string(folder)}
  <key>EnvironmentVariables</key>
  <dict>
${variables.join("\n")}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key><false/>
  </dict>
  <key>StandardOutPath</key>${string(log)}
  <key>StandardErrorPath</key>${string(log)}
</dict>
</plist>
`;
}

function xml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "");
}
