// The commented start of a metadata document, for `portolan init package`.

/** `name` is the whole name; without it, a person fills it in. */
export function packageTemplate(name = ""): string {
  return `{
  // The metadata of an MCP server. Comments are for authors; a registry gets plain JSON.
  // portolan pack sets the fields that it can derive from the server: version, tools, settings, permissions, hash, size.
  // It does not change the other fields.

  // @user/name in lower case. The user is the scope that your token of the registry owns.
  "name": ${JSON.stringify(name)},
  "type": "mcp-server",
  "version": "0.1.0",
  // Description of the server, in fewer than 200 characters.
  "description": "",
  // Also: email, github, url.
  "author": { "name": "" },
  "mcp": {
    // The revision of MCP that the server was made for.
    "version": "2025-11-25",
    // The preferred transport first: stdio, streamable-http, sse, websocket.
    "transport": ["stdio"],
    // A program of the package: a name, or a path from the top folder of the package. It can be an mcpfile.
    "executable": "",
    // A tool that is not listed here is denied until a person approves it.
    "capabilities": {
      "tools": []
    }
    // Settings become environment variables: api_token is passed as API_TOKEN.
    // "configuration": {
    //   "schema": {
    //     "type": "object",
    //     "properties": {
    //       "api_token": { "type": "string", "description": "A token of the service", "secret": true }
    //     },
    //     "required": ["api_token"]
    //   }
    // }
  },
  "source": {
    // npm, github, gist (both with a commit or a release) or binary.
    "type": "binary"
    // "url": "https://…": portolan publish sets it when it uploads the file.
  },
  "security": {
    // network, filesystem, process, or a service such as github-api.
    "permissions": []
    // Required with the permission process:
    // "sandbox": { "required": true, "type": "process" },
    // Required with the permission network:
    // "audit": { "lastReviewed": "2026-01-15T10:00:00Z", "reviewer": "", "report": "https://…" }
  },
  "metadata": {
    // An SPDX expression, such as MIT.
    "license": "",
    "keywords": []
    // "homepage": "https://…", "bugs": "https://…", "repository": "https://…"
  }
}
`;
}
