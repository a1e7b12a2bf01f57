// What --help says about init and convert.

const EXIT_CODES = `
Exit codes:
  0    done
  2    wrong usage or input, or a file that cannot be used or written
  3    the description cannot be fetched
  70   a bug here
  124  out of time
  130  interrupted (Ctrl-C)`;

export const INIT_HELP: string = `
Run portolan init <kind> --help for the options of a kind.

Examples:
  portolan init mcpfile`;

export const INIT_MCPFILE_HELP: string = `
The file is mcpfile.yaml unless a path says otherwise, and works as it is. A file that is there already is never touched.

Examples:
  portolan init mcpfile
  portolan init mcpfile tools/payments.mcpfile.yaml
${EXIT_CODES}`;

export const CONVERT_HELP: string = `
Run portolan convert <kind> --help for the options of a kind.

Examples:
  portolan convert openapi petstore.json --out petstore.mcpfile.yaml
  portolan convert mcpfile old.yaml --out mcpfile.yaml`;

export const CONVERT_API_HELP: string = `
Each operation becomes a tool. What cannot be one is skipped and told, and the rest works. Credentials become references to secrets, never values.

A URL is https, or http on this computer. It is fetched within 20 seconds and 16 MiB, and no redirect to another host is followed.

Output:
  The mcpfile on stdout, also when it is not a terminal; with --json a JSON object that holds it. What there is to say about it goes to stderr.

Examples:
  portolan convert openapi petstore.json > petstore.mcpfile.yaml
  portolan convert openapi https://api.example.com/openapi.yaml --out example.mcpfile.yaml
  portolan convert openapi petstore.json --only 'GET *' --only tag:orders --name pets
  portolan convert openapi petstore.json --json | jq '.skipped'
${EXIT_CODES}`;

export const CONVERT_MCPFILE_HELP: string = `
A file of several servers becomes several, and what says how a server is served goes into an mcpserver.yaml. The meaning stays the same; where that is not possible nothing is written.

Output:
  The files on stdout, several one after the other; with --json a JSON object that holds them.

Examples:
  portolan convert mcpfile mcpfile.yaml
  portolan convert mcpfile old.yaml --out new/
  portolan convert mcpfile mcpfile.yaml --out mcpfile.yaml --force
${EXIT_CODES}`;
