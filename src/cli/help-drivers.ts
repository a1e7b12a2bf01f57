// What --help says about the commands for drivers and contracts.

const DRIVERS = `
Drivers:
  A contract (tools/<id>/TOOL.md) says what a tool promises; a driver (.drivers/<id>/DRIVER.md) says how an MCP server keeps it. Several drivers may serve one contract: for each call one of them is chosen.`;

const exits = (lines: string): string => `
Exit codes:
${lines}
  2    wrong usage or input, or a declaration that cannot be used
  3    a server cannot be reached
  70   a bug here
  130  interrupted (Ctrl-C)`;

export const RESOLVE_HELP: string = `${DRIVERS}

The six phases are shown with whom each kept and whom it turned away, and why. The servers of the drivers are started, to see whether they fit; no tool is called.

Examples:
  portolan resolve fs-read
  portolan resolve fs-read --pin filesystem-mcp --input path,head
  portolan resolve fs-read --region eu-west-1 --policy allow=pii-safe,deny=beta
  portolan resolve fs-read --json | jq '.phases[].rejected[]'

Exit codes:
  0    a driver would serve it
  2    wrong usage, or no driver takes these inputs
  3    no driver would serve it
  5    one would, after signing in
  70   a bug here
  130  interrupted (Ctrl-C)`;

export const DIFF_HELP: string = `
Two DRIVER.md or two TOOL.md, or the folders that hold them. Each change is shown with the version that it needs: major when somebody who relied on the old one may be surprised, minor when something is added, patch otherwise.

Examples:
  portolan diff old/DRIVER.md .drivers/filesystem-mcp/DRIVER.md
  git show HEAD:tools/fs-read/TOOL.md > /tmp/TOOL.md; portolan diff /tmp/TOOL.md tools/fs-read
  portolan diff old new --json | jq -r .needs
${exits(`  0    the new version tells what has changed
  1    it does not`)}`;

export const TEST_HELP: string = `${DRIVERS}

Every example of every contract that the driver serves is called, by this driver alone. Where the example has an output, the call must give exactly that. What changes something is skipped, unless --allow-mutations says otherwise.

Examples:
  portolan test filesystem-mcp
  portolan test filesystem-mcp --allow-mutations
  portolan test tracker-mcp --context tenant=acme
  portolan test filesystem-mcp --json | jq '.examples[] | select(.state == "failed")'
${exits(`  0    no example failed
  1    an example failed, or there is none`)}`;

export const AUTHOR_HELP: string = `${DRIVERS}

The server is started once, in its sandbox, and asked for its tools. Each becomes a contract. One that is there already is served only by a tool of its name, or that does the same with the same things, and takes its inputs by their names; what is only similar is left for you to decide. What is written is checked against the server; what is left for you to decide is said at the end. A file that is there and says something else is never touched: the proposal is written beside it, as DRIVER.md.new.

Tools:
  --tools a,b            only these
  --tools a=note-read    the tool a serves the contract note-read, whatever they are called; one that is not there yet is written under that id

Targets:
  @scope/server, server@1.2.3     an npm package
  docker:image:tag, ghcr.io/a/b   an image
  ./server, "node server.js"      a program of this machine
  https://host/mcp                a URL
  Its arguments stand after --.

Sandbox:
  --allow-net, --allow-read, --allow-write grant what the server needs, and are written into the driver. --sandbox is for this start alone.

Secrets:
  Values of --env and --header, and passwords, tokens and connection strings among the arguments or in the URL, are for this start alone; the driver refers to them by name. Store them with portolan secrets set.

Examples:
  portolan author @modelcontextprotocol/server-filesystem --allow-write ./notes -- ./notes
  portolan author "node server.js" --id notes-mcp --tools read_note=note-read,list_notes
  portolan author https://mcp.example.com/mcp --header "Authorization: Bearer $TOKEN" --dry-run
${exits("  0    the driver is there, and fits its server\n  1    something does not fit")}`;

export const DRIVERS_HELP: string = `
Run portolan drivers <command> --help for the options of a command.

Examples:
  portolan drivers accept filesystem-mcp`;

export const ACCEPT_HELP: string = `
A driver that once worked is remembered as it was. When it changes in a way that breaks those who relied on it, and its major version stays the same, it is refused until its version is raised. This command takes it as it is, for once.

Examples:
  portolan diff old/DRIVER.md .drivers/filesystem-mcp
  portolan drivers accept filesystem-mcp
${exits("  0    done")}`;
