// The file that a person starts from.

/** Works on any machine: a command that is there wherever this program runs, and a request to the gateway itself. */
export const MCPFILE_TEMPLATE: string = `# Tools without a server program: each is a command or an HTTP request.
# yaml-language-server: $schema=./node_modules/portolan/schemas/mcpfile-0.2.schema.json
kind: MCPToolDefinitions
schemaVersion: "0.2.0"
name: my-tools
version: "1.0.0"

# What the commands may touch: this folder, for reading, and nothing else of yours. Grant more with
# portolan grant my-tools --write ./out --net api.example.com. Without this block, they run with all your rights.
sandbox:
  fs:
    read: [.]

tools:
  # A command. {name} is an argument of the call. It always stays within its word, whatever it holds: no shell reads it.
  - name: evaluate
    title: Evaluate JavaScript
    description: Evaluates a JavaScript expression, such as 6 * 7, and prints its value.
    inputSchema:
      type: object
      properties:
        expression:
          type: string
          description: The expression.
        strict:
          type: boolean
          description: By the rules of strict mode.
      required: [expression]
    invocation:
      cli:
        command: node {strict} --print {expression}
        # How an argument is written. What is not given, or false here, leaves no trace in the command.
        templateVariables:
          strict:
            format: --use-strict
            omitIfFalse: true
        timeout: 10s

  - name: node_version
    description: Prints the version of Node.js that is installed here.
    inputSchema:
      type: object
    annotations:
      readOnlyHint: true
    invocation:
      cli:
        command: node --version

  # An HTTP request. Arguments that the url does not use go to the query, or to a JSON body for POST, PUT and PATCH.
  # This one asks the gateway itself (portolan serve), so that it works without a network.
  - name: gateway_health
    description: Says whether the gateway on this machine is up.
    inputSchema:
      type: object
      properties:
        check:
          type: string
          enum: [healthz, readyz]
          description: Whether it runs, or whether all its servers are ready.
      required: [check]
    annotations:
      readOnlyHint: true
    invocation:
      http:
        method: GET
        url: http://127.0.0.1:7420/{check}
        # headers:
        #   Authorization: Bearer \${API_TOKEN} # a secret: portolan secrets set API_TOKEN
`;
