// What --help says about serve and token.

export const SERVE_HELP: string = `
What is served:
  (nothing)                 the servers that this folder declares; where it declares none, those of other MCP clients
  ~/project, portolan.yaml  a folder, or one declaration; the same as -w
  mcpfile.yaml              tools without a server program; one server alone in a declaration keeps its names
  https://host/mcp          one server by its URL; its tools keep their names
  "npx -y some-server"      one server by a quoted command
  -- node server.js --flag  the same, word by word

Addresses:
  /mcp                      everything, by Streamable HTTP; clients of every protocol revision
  /servers/<name>/mcp       one server alone, by its own names
  /tags/<tag>/mcp           the servers that have a tag
  /healthz, /readyz         whether it runs, and whether its servers do
  /sse                      the old HTTP+SSE transport (--sse); WebSocket is at /mcp (--websocket)

Token:
  Clients send it as Authorization: Bearer <token>. It is made at the first start and stays the same. A terminal shows it once; portolan token prints it. --new-token makes another, and locks out who has the old one.

Settings:
  What stands under gateway: in portolan.yaml holds, unless an option says otherwise. There are also callers, OAuth and limits.

Output:
  Where it is, how the servers are and what to paste into clients goes to stderr, then one line for everything that happens; with --verbose also each call. With --json, one line of JSON on stdout says it all. With --stdio, stdout is MCP and nothing else, and stderr only tells of trouble.

Examples:
  portolan serve
  portolan serve ~/project --port 8080
  portolan serve mcpfile.yaml
  portolan serve mcpfile.yaml --stdio
  portolan serve --only github --only files
  portolan serve --stdio
  portolan serve -- npx -y @modelcontextprotocol/server-filesystem .
  portolan serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --allow-host tools.example.com
  portolan serve --port 0 --json > gateway.json &

Exit codes:
  0    stopped by SIGTERM or SIGHUP, or stdin has ended (--stdio)
  2    wrong usage, a declaration that cannot be used, or a port that is taken
  70   a bug here
  130  stopped by Ctrl-C; pressed again, it leaves at once`;

export const TOKEN_HELP: string = `
The token is printed alone, so that a command line can use it. It is made if there is none yet.

Examples:
  portolan token
  claude mcp add --transport http portolan http://127.0.0.1:7420/mcp --header "Authorization: Bearer $(portolan token)"
  portolan token ~/project --new

Exit codes:
  0    done
  2    wrong usage, or a file that cannot be used
  70   a bug here`;
