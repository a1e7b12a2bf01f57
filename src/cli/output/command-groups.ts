// Groups of commands in `portolan --help`, by need and in the order in which a newcomer meets them.

type Row = readonly [names: string, about: string];

const GROUPS: Readonly<Record<string, readonly Row[]>> = {
  "First use": [
    ["add, remove", "add a server (command, URL, package); remove it"],
    ["import", "copy servers from other MCP clients"],
    ["connect, disconnect", "let MCP clients use this gateway; undo it"],
    ["list", "show servers and their tools"],
    ["call", "call a tool"],
  ],
  Run: [
    ["serve", "run all servers as one: the gateway"],
    ["status, why", "state of servers; its causes, and what to do"],
    ["console", "link to the web page of the running gateway"],
    ["logs, events", "stderr of a server; events of all servers"],
    ["restart, reload, stop", "control the running gateway"],
    ["service", "start the gateway when you log in to the system"],
    ["token", "print the token that clients send"],
  ],
  Servers: [
    ["read, prompt", "read a resource; get a prompt"],
    ["run", "run an mlld script with servers"],
    ["install", "install programs before their first start"],
    ["validate", "check config files"],
    ["export", "write servers in the format of a client"],
    ["tokens", "tokens that tool lists take in the context"],
  ],
  "Access and safety": [
    ["grant, revoke", "files, hosts and variables of a server"],
    ["approve", "approve or deny calls that wait for you"],
    ["secrets", "store values of ${NAME} in config files"],
    ["login, logout, accounts", "log in to servers and drivers"],
    ["pin, pins", "approve tool definitions; see changes"],
    ["audit", "check packages; read the audit log"],
  ],
  Packages: [
    ["search, info, versions", "packages in registries"],
    ["update", "show what changes, then install newer versions"],
    ["advisories, star", "known vulnerabilities; give a package a star"],
  ],
  Authors: [
    ["init, convert", "write a config file; convert OpenAPI"],
    ["author", "write a driver for a server"],
    ["resolve, diff, test, drivers", "contracts and their drivers"],
    ["pack", "make a package of a server"],
    ["publish, deprecate, unpublish", "change the versions of your packages"],
    ["registry", "serve a registry of packages"],
  ],
  Machine: [["doctor, completion", "test this machine's sandbox; shell completion"]],
};

/** The sections of the help, one for each group. */
export function commandGroups(): string[] {
  const column = Math.max(...Object.values(GROUPS).flatMap((rows) => rows.map(([names]) => names.length)));
  return Object.entries(GROUPS).map(([title, rows]) =>
    [`${title}:`, ...rows.map(([names, about]) => `  ${names.padEnd(column)}  ${about}`)].join("\n"),
  );
}
