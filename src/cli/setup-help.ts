// What --help says about import, export and secrets beyond the list of options.

const FORMS = `
Output:
  On a terminal: text. Otherwise, or with --json: JSON on stdout and nothing else there. An error goes to stderr in the same form; as JSON it is one line, the last one: {"error": {"code", "message", "hint", ...}}`;

const CLIENTS = `
Clients:
  claude-code, claude-desktop, cursor, windsurf, vscode, codex, gemini, opencode, axle`;

const exits = (one?: string): string => `
Exit codes:
  0    done${one === undefined ? "" : `\n  1    ${one}`}
  2    wrong usage or input, or a file that cannot be used
  70   a bug here
  130  interrupted (Ctrl-C)`;

export const DOCTOR_HELP: string = `
Local servers run in a sandbox: a read-only system, a folder of their own, no network. What holds it is tried here, not looked up: each part of bubblewrap, Docker if it is there, and at last a small program in the default profile that tries to get out. The packages of the store are looked at, too. For what is missing, the command that mends it is shown.

Examples:
  portolan doctor
  portolan doctor --json | jq '.backends[].report.findings[] | select(.ok | not)'
${FORMS}

Exit codes:
  0    the default profile is enforced here
  3    it cannot be enforced
  70   a bug here
  130  interrupted (Ctrl-C)`;

export const IMPORT_HELP: string = `${CLIENTS}

Their files are looked for in this folder, in the folders above it up to the root of the repository, and in your home folder. They are only read, never changed. Values that may be secret are not shown.

With --write, servers that the workspace does not have yet are added to its portolan.yaml. What stands in it stays as it is, and a copy of it is kept.

Examples:
  portolan import
  portolan import cursor claude-desktop
  portolan import vscode --write
  portolan import --json | jq '.files[].servers[].alias'
${FORMS}
${exits("a server could not be added (--write)")}`;

export const EXPORT_HELP: string = `${CLIENTS}

Without --write the snippet is printed, and nothing is changed. With it, the servers are merged into the client's own file: all else in it stays byte for byte, and a copy of it is kept.

Examples:
  portolan export --for cursor
  portolan export --for vscode github --write .vscode/mcp.json
  portolan export --for codex >> ~/.codex/config.toml
  portolan export --for claude-desktop --write

Output:
  The snippet on stdout, also when it is not a terminal; with --json a JSON object that holds it. What the client cannot be told goes to stderr.
${exits()}`;

export const SECRETS_HELP: string = `
A declaration refers to a secret by its name: \${NAME}, \${NAME:-default}, \${secrets.NAME}. It is looked for in the environment (PORTOLAN_SECRET_NAME, then NAME), in the system's keyring, in an encrypted file (the vault), and in the .env file that portolan.yaml names (env_file). No command shows a value.

Run portolan secrets <command> --help for the options of a command.`;

const VAULT = `
The vault:
  Its passphrase is asked for at the terminal. Elsewhere, PORTOLAN_VAULT_PASSPHRASE_FILE names a file that holds it.`;

export const SET_HELP: string = `
The value is asked for without being shown, or read from stdin if that is not a terminal (a line break at its end does not count). It is never taken from the command line. Without --to it goes to the system's keyring if that works, otherwise to the vault.
${VAULT}

Examples:
  portolan secrets set GITHUB_TOKEN
  gh auth token | portolan secrets set GITHUB_TOKEN
  portolan secrets set DEPLOY_KEY --to vault < key.pem
${FORMS}
${exits()}`;

export const SECRETS_LIST_HELP: string = `
Names and where they are, in the order in which the places are asked. Of the environment only PORTOLAN_SECRET_… is shown.
${VAULT}

Examples:
  portolan secrets list
  portolan secrets list --json | jq -r '.secrets[].name'
${FORMS}
${exits()}`;

export const RM_HELP: string = `
${VAULT.trim()}

Examples:
  portolan secrets rm GITHUB_TOKEN
${FORMS}
${exits()}`;

export const CHECK_HELP: string = `
Whether each place works, and which names the servers of the workspace need, where, and whether each is set.
${VAULT}

Examples:
  portolan secrets check
  portolan secrets check --json | jq '.needs[] | select(.state == "missing")'
${FORMS}
${exits("a needed name is not set, or a place that holds secrets does not work")}`;
