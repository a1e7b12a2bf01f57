// The client program that the official conformance suite drives: one connectMcp() per scenario, the era always found by asking.
// The suite gives the scenario's name in the environment and the server's URL as the last argument.

import { connectMcp } from "portolan";

const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const url = process.argv.at(-1);

const scenarios = {
  initialize: listAndCallFirst,
  tools_call: listAndCallFirst,
  "elicitation-sep1034-client-defaults": acceptWithDefaults,
  "sse-retry": callTools("test_reconnection"),
  "request-metadata": listOnly,
  "sep-2322-client-request-state": answerInputRequests,
  "http-standard-headers": useEverything,
  "http-custom-headers": callAsTold,
  "http-invalid-tool-headers": callEveryListedTool,
  "json-schema-ref-no-deref": listOnly,
  "json-schema-2020-12-preservation": echoSchema,
};

// The suite's own time limit ends only the shell around this program, and then waits for the program without end.
setTimeout(() => {
  console.error("The client did not finish in time.");
  process.exit(1);
}, 25_000).unref();

// The runner looks for this line: a program that failed, hung or was killed does not print it.
process.on("exit", (code) => {
  if (code === 0) console.log("client finished");
});

const run = scenarios[scenario] ?? (scenario.startsWith("auth/") ? callTools("test-tool") : undefined);
if (run === undefined) {
  console.error(`No behaviour is written for the scenario "${scenario}".`);
  process.exitCode = 1;
} else {
  try {
    await run();
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
}

async function withConnection(work, handlers) {
  const auth = scenario.startsWith("auth/") ? authSettings() : undefined;
  const connection = await connectMcp({ transport: "http", url, name: "conformance", handlers, auth });
  try {
    await work(connection);
  } finally {
    await connection.close();
  }
}

// The login page of the suite redirects at once, so that no browser is needed.
function authSettings() {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: pem } = context;
  const openLoginPage = async () => ({
    redirectUri: "http://127.0.0.1:3118/callback",
    show: async (address) => new URL((await fetch(address, { redirect: "manual" })).headers.get("location")),
    close: async () => {},
  });
  return {
    ...{ clientId, clientSecret, openLoginPage },
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
    clientKey: pem && { pem, algorithm: context.signing_algorithm },
    grant: grantOf(context),
  };
}

function grantOf({ idp_token_endpoint: tokenEndpoint, valid_jwt: assertion, ...rest }) {
  if (scenario.startsWith("auth/client-credentials")) return { type: "client-credentials" };
  if (assertion !== undefined) return { type: "jwt-bearer", assertion };
  if (tokenEndpoint === undefined) return undefined;
  const { idp_client_id: clientId, idp_id_token: idToken } = rest;
  return { type: "enterprise", provider: { tokenEndpoint, clientId, idToken } };
}

async function listAndCallFirst() {
  await withConnection(async (connection) => {
    const [tool] = await connection.listTools();
    if (tool !== undefined) await tool.execute({ a: 2, b: 3 });
  });
}

// Also asks for the Zod view, which is where a schema would be dereferenced.
async function listOnly() {
  await withConnection(async (connection) => {
    for (const tool of await connection.listTools()) void tool.schema;
  });
}

function callTools(...names) {
  return () =>
    withConnection(async (connection) => {
      await connection.listTools();
      for (const name of names) await connection.callTool(name, {});
    });
}

async function acceptWithDefaults() {
  await withConnection(
    async (connection) => {
      await connection.listTools();
      await connection.callTool("test_client_elicitation_defaults", {});
    },
    { elicit: () => ({ action: "accept", content: {} }) },
  );
}

// An unrelated call goes out while the first one waits for its answer: nothing of the one may leak into the other.
async function answerInputRequests() {
  let connection;
  let unrelated;
  const elicit = async () => {
    unrelated ??= connection.callTool("test_mrtr_unrelated", {});
    await unrelated;
    return { action: "accept", content: { confirmed: true } };
  };
  await withConnection(
    async (opened) => {
      connection = opened;
      await connection.listTools();
      await connection.callTool("test_mrtr_echo_state", {});
      await connection.callTool("test_mrtr_no_state", {});
      await connection.callTool("test_mrtr_no_result_type", {});
    },
    { elicit },
  );
}

async function useEverything() {
  await withConnection(async (connection) => {
    for (const tool of await connection.listTools()) await tool.execute({});
    for (const resource of await connection.listResources()) await connection.readResource(resource.uri);
    for (const prompt of await connection.listPrompts()) await connection.getPrompt(prompt.name);
  });
}

// One call is told to send null where the schema wants a boolean. Input is checked here, so that argument is left out instead;
// the scenario asks the same of both: no header.
async function callAsTold() {
  await withConnection(async (connection) => {
    await connection.listTools();
    for (const call of context.toolCalls) {
      const given = Object.entries(call.arguments).filter(([, value]) => value !== null);
      await connection.callTool(call.name, Object.fromEntries(given));
    }
  });
}

async function callEveryListedTool() {
  await withConnection(async (connection) => {
    for (const tool of await connection.listTools()) {
      const names = Object.keys(tool.inputSchema.properties ?? {});
      await connection.callTool(
        tool.definition.name,
        Object.fromEntries(names.map((name) => [name, "us-west1"])),
      );
    }
  });
}

async function echoSchema() {
  await withConnection(async (connection) => {
    const tools = await connection.listTools();
    const rich = tools.find((tool) => tool.definition.name === "json_schema_2020_12_tool");
    await connection.callTool("json_schema_echo", { schema: rich.inputSchema });
  });
}
