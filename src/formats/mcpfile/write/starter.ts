// The file that a person starts from.

/** Works on any machine: a command that is there wherever this program runs, and a request to the gateway itself. */
export const MCPFILE_TEMPLATE: string = `# Tools without a server program: each is a command or an HTTP request.
# yaml-language-server: $schema=./node_modules/portolan/schemas/mcpfile-0.2.schema.json
kind: MCPToolDefinitions
schemaVersion: "0.2.0"
name: my-tools
version: "1.0.0"

# The sandbox of the commands: of your files, they can only read those in this folder. To grant more:
# portolan grant my-tools --write ./out --net api.example.com
# Without this section, the commands run with all your rights.
sandbox:
  fs:
    read: [.]

tools:
  # A command. {name} stands for an argument of the call. No shell runs the command, so an argument is always one word.
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
          description: Evaluate the expression in strict mode.
      required: [expression]
    invocation:
      cli:
        command: node {strict} --print {expression}
        # How an argument is written. If strict is missing or false, {strict} adds nothing to the command.
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
  # This request goes to the gateway on this machine (portolan serve), so it needs no network.
  - name: gateway_health
    description: Shows whether the gateway on this machine runs.
    inputSchema:
      type: object
      properties:
        check:
          type: string
          enum: [healthz, readyz]
          description: healthz checks whether the gateway runs, readyz whether it is ready.
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
