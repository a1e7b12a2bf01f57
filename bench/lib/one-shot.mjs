// One-shot client, like a command that calls one tool: connect, list, call, leave. `node one-shot.mjs '{"module", "target"}'`.

const { module, target } = JSON.parse(process.argv[2]);
const { connect } = await import(module);
const client = await connect(target);
const text = "once";
if ((await client.call(text)) !== text) throw new Error("other text came back");
await client.close();
