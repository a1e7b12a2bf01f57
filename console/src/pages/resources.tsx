// Resources and templates of all servers: listed, filled in, read.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { mcp } from "../api.ts";
import { ContentsView } from "../calls/result.tsx";
import { resources, templates, watchResources } from "../state/lists.ts";
import { go, href } from "../state/router.ts";
import type { ResourceContents, ResourceTemplate } from "../types.ts";
import { firstLine, formatBytes, formatCount } from "../ui/format.ts";
import { Empty, ErrorMessage, Loading, Page, SearchBox } from "../ui/parts.tsx";

export function ResourcesPage(): JSX.Element {
  const text = useSignal("");
  useEffect(watchResources, []);
  const { items, error, isLoading } = resources.value;
  const matches = (one: { name: string; title?: string; description?: string }, uri: string): boolean =>
    `${one.name} ${one.title ?? ""} ${uri}`.toLowerCase().includes(text.value.toLowerCase());
  const found = items.filter((one) => matches(one, one.uri));
  const foundTemplates = templates.value.items.filter((one) => matches(one, one.uriTemplate));
  return (
    <Page
      title="Resources"
      lead={
        isLoading
          ? undefined
          : `${formatCount(items.length, "resource")}, ${formatCount(templates.value.items.length, "template")}`
      }
      actions={
        <SearchBox label="Find a resource" value={text.value} onInput={(value) => (text.value = value)} />
      }
    >
      {error && <ErrorMessage error={error} />}
      {isLoading && <Loading />}
      {!isLoading && items.length + templates.value.items.length === 0 && (
        <Empty title="No server offers resources." />
      )}
      {foundTemplates.map((template) => (
        <TemplateCard key={template.uriTemplate} template={template} />
      ))}
      <ul class="rows">
        {found.slice(0, 500).map((resource) => (
          <li key={resource.uri}>
            <a href={href("resources", resource.uri)}>
              <span class="row-name">{resource.title ?? resource.name}</span>
              <span class="row-server muted">{resource.mimeType ?? ""}</span>
              <span class="row-text muted">
                <code>{resource.uri}</code> {firstLine(resource.description, 100)}
                {resource.size !== undefined && ` ${formatBytes(resource.size)}`}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </Page>
  );
}

function TemplateCard({ template }: { readonly template: ResourceTemplate }): JSX.Element {
  const names = [...template.uriTemplate.matchAll(/\{[+#./;?&]?([\w.,-]+)\*?\}/g)].flatMap(([, list = ""]) =>
    list.split(","),
  );
  const values = useSignal<Readonly<Record<string, string>>>({});
  const uri = template.uriTemplate.replaceAll(/\{[+#./;?&]?([\w.,-]+)\*?\}/g, (_, list: string) =>
    list
      .split(",")
      .map((name) => encodeURIComponent(values.value[name] ?? ""))
      .join(","),
  );
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        go("resources", uri);
      }}
    >
      <h2>{template.title ?? template.name}</h2>
      <p class="muted">
        <code class="break">{template.uriTemplate}</code> {template.description}
      </p>
      <div class="inline-fields">
        {names.map((name) => (
          <label key={name} class="field">
            {name}
            <input
              value={values.value[name] ?? ""}
              autocomplete="off"
              onInput={(event) => (values.value = { ...values.value, [name]: event.currentTarget.value })}
            />
          </label>
        ))}
        <button type="submit" class="button primary">
          Read
        </button>
      </div>
    </form>
  );
}

export function ResourcePage({ uri }: { readonly uri: string }): JSX.Element {
  const contents = useSignal<readonly ResourceContents[] | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  useEffect(() => {
    const ended = new AbortController();
    contents.value = undefined;
    error.value = undefined;
    mcp<{ contents: ResourceContents[] }>("resources/read", { uri }, { signal: ended.signal }).then(
      (result) => (contents.value = result.contents),
      (thrown: unknown) => {
        if (!ended.signal.aborted) error.value = thrown;
      },
    );
    return () => ended.abort();
  }, [uri]);
  return (
    <Page
      title="Resource"
      lead={<code class="break">{uri}</code>}
      back={{ href: href("resources"), label: "Resources" }}
    >
      {error.value !== undefined && <ErrorMessage error={error.value} />}
      {contents.value === undefined && error.value === undefined && <Loading />}
      {contents.value?.map((one) => (
        <section key={one.uri} class="card" aria-label={one.uri}>
          <ContentsView contents={one} />
        </section>
      ))}
    </Page>
  );
}
