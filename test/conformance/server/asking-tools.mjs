/**
 * The tools that ask their client. Each is written once: `ask` sends requests in the legacy era and ends the call with
 * `input_required` in the modern one, which runs the tool again from its start when the answers have come.
 * The keys are what the suite expects as names of the questions.
 */
import { says } from "./content.mjs";
import { form, roots, sampledText, sampling } from "./questions.mjs";

const NO_ARGUMENTS = { type: "object", properties: {} };
const NAME = form("What is your name?", { name: { type: "string" } });
const CONFIRM = form("Please confirm", { ok: { type: "boolean" } });

/** With this the modern era seals what it has to remember into `requestState`, and insists on getting it back. */
const SEALED = { sealed: true };

const showAnswer = ({ action, content }) =>
  says(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);

const inputRequired = [
  {
    name: "elicitation",
    description: "Asks for a name by a form",
    async run(_args, { ask }) {
      const { user_name: answer } = await ask({ user_name: NAME });
      return says(`Hello, ${answer.content?.name ?? "stranger"}!`);
    },
  },
  {
    name: "sampling",
    description: "Asks the client's model",
    async run(_args, { ask }) {
      const { capital_question: answer } = await ask({
        capital_question: sampling("What is the capital of France?"),
      });
      return says(sampledText(answer));
    },
  },
  {
    name: "list_roots",
    description: "Asks for the client's roots",
    async run(_args, { ask }) {
      const { client_roots: answer } = await ask({ client_roots: roots() });
      return says(answer.roots.map(({ uri }) => uri).join("\n"));
    },
  },
  {
    name: "request_state",
    description: "Asks for a confirmation and wants its state back",
    async run(_args, { ask }) {
      await ask({ confirm: CONFIRM }, SEALED);
      return says("state-ok");
    },
  },
  {
    name: "tampered_state",
    description: "Asks for a confirmation and refuses a state that it did not make",
    async run(_args, { ask }) {
      await ask({ confirm: CONFIRM }, SEALED);
      return says("The state was as it left.");
    },
  },
  {
    name: "multiple_inputs",
    description: "Asks three questions at once",
    async run(_args, { ask }) {
      const answers = await ask(
        { user_name: NAME, greeting: sampling("Generate a greeting", 50), client_roots: roots() },
        SEALED,
      );
      return says(
        `${sampledText(answers.greeting)} ${answers.user_name.content?.name ?? "stranger"}, with ` +
          `${answers.client_roots.roots.length} roots`,
      );
    },
  },
  {
    name: "multi_round",
    description: "Asks one question after the other",
    async run(_args, { ask }) {
      const { step1 } = await ask(
        { step1: form("Step 1: What is your name?", { name: { type: "string" } }) },
        SEALED,
      );
      const { step2 } = await ask(
        { step2: form("Step 2: What is your favorite color?", { color: { type: "string" } }) },
        SEALED,
      );
      return says(`${step1.content?.name} likes ${step2.content?.color}.`);
    },
  },
  {
    name: "capabilities",
    description: "Asks in the first way that the client can answer: its model, or else its user",
    async run(_args, { ask, can }) {
      const question = can("sampling") ? sampling("Which capabilities do you have?") : CONFIRM;
      const { question: answer } = await ask({ question });
      return says(JSON.stringify(answer));
    },
  },
].map((tool) => ({ ...tool, name: `test_input_required_result_${tool.name}` }));

export const askingTools = [
  ...inputRequired,
  {
    name: "test_sampling",
    description: "Has the client's model answer a prompt",
    inputSchema: { type: "object", properties: { prompt: { type: "string" } }, required: ["prompt"] },
    async run({ prompt }, { ask }) {
      const { answer } = await ask({ answer: sampling(prompt) });
      return says(`LLM response: ${sampledText(answer)}`);
    },
  },
  {
    name: "test_elicitation",
    description: "Asks the user for a name and an address",
    inputSchema: { type: "object", properties: { message: { type: "string" } }, required: ["message"] },
    async run({ message }, { ask }) {
      const fields = {
        username: { type: "string", description: "User's response" },
        email: { type: "string", description: "User's email address" },
      };
      const { user } = await ask({ user: form(message, fields) });
      return says(`User response: action=${user.action}, content=${JSON.stringify(user.content ?? {})}`);
    },
  },
  {
    name: "test_elicitation_sep1034_defaults",
    description: "Asks by a form whose fields have defaults",
    async run(_args, { ask }) {
      const fields = {
        name: { type: "string", default: "John Doe" },
        age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true },
      };
      const { defaults } = await ask({ defaults: form("Please check these values", fields, []) });
      return showAnswer(defaults);
    },
  },
  {
    name: "test_elicitation_sep1330_enums",
    description: "Asks by a form with every kind of choice",
    async run(_args, { ask }) {
      const plain = ["option1", "option2", "option3"];
      const titled = (word) =>
        ["First", "Second", "Third"].map((nth, index) => ({
          const: `value${index + 1}`,
          title: `${nth} ${word}`,
        }));
      const fields = {
        untitledSingle: { type: "string", enum: plain },
        titledSingle: { type: "string", oneOf: titled("Option") },
        legacyEnum: {
          type: "string",
          enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti: { type: "array", items: { type: "string", enum: plain } },
        titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
      };
      const { choices } = await ask({ choices: form("Please choose", fields, []) });
      return showAnswer(choices);
    },
  },
  {
    name: "test_missing_capability",
    description: "Cannot work without the client's model",
    async run(_args, { ask }) {
      const { answer } = await ask({ answer: sampling("Are you there?") });
      return says(sampledText(answer));
    },
  },
  {
    name: "test_streaming_elicitation",
    description: "Reports progress, then asks for a confirmation",
    async run(_args, { ask, log, progress }) {
      log("info", "About to ask");
      progress(1, 2);
      const { streaming } = await ask({ streaming: CONFIRM });
      progress(2, 2);
      return showAnswer(streaming);
    },
  },
].map((tool) => ({ inputSchema: NO_ARGUMENTS, ...tool }));
