/** The prompts, and the completion of their arguments. */
import { CODE, RpcError } from "../../fixtures/lib/rpc.mjs";
import { embedded, image, messages, text } from "./content.mjs";
import { form } from "./questions.mjs";

export const prompts = [
  {
    name: "test_simple_prompt",
    description: "A prompt without arguments",
    get: () => messages(text("This is a simple prompt for testing.")),
  },
  {
    name: "test_prompt_with_arguments",
    description: "A prompt with two arguments",
    arguments: [
      { name: "arg1", description: "First test argument", required: true },
      { name: "arg2", description: "Second test argument", required: true },
    ],
    get: ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "A prompt that contains a resource",
    arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
    get: ({ resourceUri }) =>
      messages(
        embedded(resourceUri, "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      ),
  },
  {
    name: "test_prompt_with_image",
    description: "A prompt that contains an image",
    get: () => messages(image(), text("Please analyze the image above.")),
  },
  {
    name: "test_input_required_result_prompt",
    description: "A prompt that asks for its context first",
    async get(_args, { ask }) {
      const { user_context: answer } = await ask({
        user_context: form("What context should the prompt use?", { context: { type: "string" } }),
      });
      return messages(text(`Use this context: ${answer.content?.context ?? "none"}`));
    },
  },
];

export async function getPrompt(ctx) {
  const { name, arguments: args = {} } = ctx.params;
  const prompt = ctx.surface.prompts().find((candidate) => candidate.name === name);
  if (!prompt) throw new RpcError(CODE.invalidParams, `Unknown prompt: ${name}`);
  for (const argument of prompt.arguments ?? []) {
    if (argument.required && args[argument.name] === undefined) {
      throw new RpcError(CODE.invalidParams, `Missing argument: ${argument.name}`);
    }
  }
  return prompt.get(args, ctx);
}

const CITIES = ["paris", "park", "party", "test", "testing"];

export function complete({ params }) {
  const values = CITIES.filter((city) => city.startsWith(String(params.argument?.value ?? "")));
  return { completion: { values, total: values.length, hasMore: false } };
}
