// The portolan.yaml that `portolan init` writes: valid as it is, with an example of each part as a comment.

export const WORKSPACE_TEMPLATE = `# Servers of this workspace, and the gateway that offers them as one MCP server.
# portolan add, grant, import, connect and remove edit this file, and keep its comments.
version: 1

servers:
  # A program. It runs in a sandbox. Of your files, it can use only the granted folders.
  # files:
  #   command: npx
  #   args: [-y, "@modelcontextprotocol/server-filesystem", ./notes]
  #   sandbox:
  #     fs: { write: [./notes] }

  # A server at a URL. Portolan gets the value of \${GITHUB_TOKEN} from the environment, the keyring or the vault.
  # github:
  #   url: https://api.githubcopilot.com/mcp/
  #   headers: { Authorization: "Bearer \${GITHUB_TOKEN}" }
  #   start: lazy

# Settings of portolan serve.
# gateway:
#   port: 7420
#   callers:
#     - name: ci
#       token: "\${CI_GATEWAY_TOKEN}"
#       allow: { annotations: [read-only] }
`;
