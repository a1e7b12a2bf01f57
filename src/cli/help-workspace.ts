// What --help says about the commands of a workspace.

const WORKSPACE = `
Workspace:
  The servers are those that this folder declares: in portolan.yaml, a bridge manifest, mcpfile.yaml, .mcp.json, .cursor/mcp.json, .vscode/mcp.json or .drivers/<id>/DRIVER.md. --workspace names another folder, or one such file.
  Where nothing is declared, the servers that other MCP clients on this computer know are used; then nothing is written.`;

const EXIT_CODES = `
Exit codes:
  0    done
  1    a declaration has errors (validate)
  2    wrong usage or input, or a declaration that cannot be used
  3    a server is not up (status, why), or cannot be installed (install)
  70   a bug here
  130  interrupted (Ctrl-C)`;

const help = (examples: string): string => `${WORKSPACE}\n\nExamples:\n${examples}\n${EXIT_CODES}`;

export const STATUS_HELP: string = help(`  portolan status
  portolan status github files --wait 10
  portolan status -w ~/project --json | jq '.servers[] | select(.state != "ready")'`);

export const WHY_HELP: string = help(`  portolan why github
  portolan why filesystem-mcp
  portolan why --plan github
  portolan why --plan --allow-net api.example.com -- npx -y some-server
  portolan why github --json | jq -r .health.stderr`);

export const EVENTS_HELP: string = help(`  portolan events
  portolan events --follow
  portolan events --follow --json | jq -c 'select(.type == "mcp.server_failed")'`);

export const ADD_HELP: string = help(`  portolan add files -- npx -y @modelcontextprotocol/server-filesystem .
  portolan add github https://api.githubcopilot.com/mcp/ --header 'Authorization: Bearer \${GITHUB_TOKEN}'
  portolan add search --env API_KEY --start lazy -- uvx search-server
  portolan add weather --allow-net api.weather.gov -- npx -y weather-server
  portolan add files --dry-run -- node server.js`);

export const INSTALL_HELP: string = `
Packages and downloads are kept in a store, images by their engine; all of them are fetched at the first start of a server, or here. What is there stays as it is, unless something of it is missing or was changed. With --update a range or tag such as ^1.2 or latest is resolved anew; an image that is there stays.
${help(`  portolan install
  portolan install github files
  portolan install --update
  portolan install -- npx -y @modelcontextprotocol/server-everything
  portolan install --json | jq '.servers[] | select(.state == "failed")'`)}`;

export const REMOVE_HELP: string = help(`  portolan remove files
  portolan remove files --dry-run`);

export const VALIDATE_HELP: string = help(`  portolan validate
  portolan validate mcpfile.yaml
  portolan validate manifest.yaml .cursor/mcp.json
  portolan validate .drivers/filesystem-mcp tools/fs-read/TOOL.md
  portolan validate --json | jq '.diagnostics[] | "\\(.file):\\(.line) \\(.message)"'`);
