// Prompts of all servers: listed, filled in, and shown as the messages they make.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { mcp } from "../api.ts";
import { Block } from "../calls/result.tsx";
import { type NamedPrompt, prompts, watchPrompts } from "../state/lists.ts";
import { href } from "../state/router.ts";
import type { Content } from "../types.ts";
import { firstLine, formatCount } from "../ui/format.ts";
import { Empty, ErrorMessage, Loading, Page } from "../ui/parts.tsx";

export function PromptsPage(): JSX.Element {
  useEffect(watchPrompts, []);
  const { items, error, isLoading } = prompts.value;
  return (
    <Page title="Prompts" lead={isLoading ? undefined : formatCount(items.length, "prompt")}>
      {error && <ErrorMessage error={error} />}
      {isLoading && <Loading />}
      {!isLoading && items.length === 0 && <Empty title="No server offers prompts." />}
      <ul class="rows">
        {items.map((prompt) => (
          <li key={prompt.name}>
            <a href={href("prompts", prompt.name)}>
              <span class="row-name">{prompt.own}</span>
              <span class="row-server muted">{prompt.server}</span>
              <span class="row-text muted">{firstLine(prompt.description)}</span>
            </a>
          </li>
        ))}
      </ul>
    </Page>
  );
}

export function PromptPage({ name }: { readonly name: string }): JSX.Element {
  useEffect(watchPrompts, []);
  const prompt = prompts.value.items.find((one) => one.name === name);
  const back = { href: href("prompts"), label: "Prompts" };
  if (prompt === undefined)
    return (
      <Page title={name} back={back}>
        {prompts.value.isLoading ? <Loading /> : <Empty title="No server offers this prompt now." />}
      </Page>
    );
  return <PromptView key={name} prompt={prompt} back={back} />;
}

interface PromptMessage {
  readonly role: string;
  readonly content: Content;
}

function PromptView({
  prompt,
  back,
}: {
  readonly prompt: NamedPrompt;
  readonly back: { href: string; label: string };
}): JSX.Element {
  const values = useSignal<Readonly<Record<string, string>>>({});
  const messages = useSignal<readonly PromptMessage[] | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const get = async (): Promise<void> => {
    error.value = undefined;
    try {
      const given = Object.fromEntries(Object.entries(values.value).filter(([, value]) => value !== ""));
      const result = await mcp<{ messages: PromptMessage[] }>("prompts/get", {
        name: prompt.name,
        arguments: given,
      });
      messages.value = result.messages;
    } catch (thrown) {
      error.value = thrown;
    }
  };
  return (
    <Page
      title={prompt.title ?? prompt.own}
      back={back}
      lead={
        <>
          <code>{prompt.name}</code> of <a href={href("servers", prompt.server)}>{prompt.server}</a>
        </>
      }
    >
      {prompt.description && <p class="description">{prompt.description}</p>}
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          void get();
        }}
      >
        {(prompt.arguments ?? []).map((argument) => (
          <label key={argument.name} class="field">
            <span>
              {argument.name}
              {argument.required === true && <span class="required"> required</span>}
            </span>
            <input
              value={values.value[argument.name] ?? ""}
              required={argument.required === true}
              autocomplete="off"
              onInput={(event) =>
                (values.value = { ...values.value, [argument.name]: event.currentTarget.value })
              }
            />
            {argument.description && <span class="help">{argument.description}</span>}
          </label>
        ))}
        <button type="submit" class="button primary">
          Get the prompt
        </button>
      </form>
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {messages.value?.map((message, index) => (
        <section key={index} class="card" aria-label={`Message of ${message.role}`}>
          <h2>{message.role}</h2>
          <Block block={message.content} />
        </section>
      ))}
    </Page>
  );
}
