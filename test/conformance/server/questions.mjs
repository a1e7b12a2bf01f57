/** What a server may ask its client: the same question in both eras, by request or by `input_required`. */

export const form = (message, properties, required = Object.keys(properties)) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties, required } },
});

export const sampling = (prompt, maxTokens = 100) => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens },
});

export const roots = () => ({ method: "roots/list", params: {} });

const CAPABILITY = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** The capabilities that these questions need and `declared` lacks, in the form of a capability declaration. */
export function missingCapabilities(questions, declared) {
  const needed = Object.values(questions).map(({ method }) => CAPABILITY[method]);
  const missing = needed.filter((name) => typeof declared?.[name] !== "object" || declared[name] === null);
  return missing.length === 0 ? undefined : Object.fromEntries(missing.map((name) => [name, {}]));
}

const ANSWERS = {
  "elicitation/create": ({ action }) => ["accept", "decline", "cancel"].includes(action),
  "sampling/createMessage": ({ content }) => typeof content === "object",
  "roots/list": ({ roots }) => Array.isArray(roots),
};

export const isAnswerTo = ({ method }, answer) =>
  typeof answer === "object" && answer !== null && ANSWERS[method](answer);

export function sampledText({ content }) {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.map((block) => block?.text ?? "").join("");
}
