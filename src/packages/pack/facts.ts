// Facts about a server that its metadata document states: what it offers, what it needs, and where its files are.

import type { PackageValue } from "../../formats/package/index.ts";
import type {
  PromptDefinition,
  ResourceDefinition,
  ResourceTemplateDefinition,
  ToolDefinition,
} from "../../model/index.ts";

type Mcp = NonNullable<PackageValue["mcp"]>;
export type Capabilities = NonNullable<Mcp["capabilities"]>;
export type Metadata = NonNullable<PackageValue["metadata"]>;

/** The file of a package. */
export interface PackedSource {
  readonly type: "npm" | "binary";
  /** Absent if the file has no address yet. */
  readonly url?: string;
  readonly hash: string;
  readonly size: number;
}

/** All that can be derived of a server. Fields that nothing says are absent: a person fills them in. */
export interface PackageFacts {
  /** The part of the name after the scope. */
  readonly module: string;
  readonly version?: string;
  readonly description?: string;
  readonly author?: PackageValue["author"];
  readonly mcp: {
    readonly version: string;
    readonly transport: NonNullable<Mcp["transport"]>;
    readonly executable?: string;
    readonly args?: readonly string[];
    readonly capabilities: Capabilities;
    /** The files of a driver: DRIVER.md, and the TOOL.md of each contract. */
    readonly driver?: Readonly<Record<string, string>>;
  };
  /** The names of the environment variables that hold secrets and other settings. */
  readonly variables: readonly string[];
  readonly permissions: readonly string[];
  readonly source?: PackedSource;
  readonly requirements?: PackageValue["requirements"];
  readonly metadata?: Pick<Metadata, "keywords" | "license" | "homepage" | "bugs" | "repository">;
}

/** The inventory of a running server or of a file. */
export interface Inventory {
  readonly tools: readonly ToolDefinition[];
  readonly resources?: readonly ResourceDefinition[];
  readonly resourceTemplates?: readonly ResourceTemplateDefinition[];
  readonly prompts?: readonly PromptDefinition[];
}

/** Lists are sorted by name, so that a server that lists its tools in another order changes nothing. */
export function toCapabilities({
  tools,
  resources = [],
  resourceTemplates = [],
  prompts = [],
}: Inventory): Capabilities {
  const uris = [
    ...resources,
    ...resourceTemplates.map(({ uriTemplate, ...rest }) => ({ ...rest, uri: toPattern(uriTemplate) })),
  ];
  return {
    tools: sortedBy(
      tools.map(({ name, description, inputSchema }) =>
        defined({ name, description: described(description), parameters: inputSchema }),
      ),
      ({ name }) => name,
    ),
    ...(uris.length === 0
      ? {}
      : {
          resources: sortedBy(
            uris.map(({ uri, description, mimeType }) =>
              defined({ uri, description: described(description), mimeType }),
            ),
            ({ uri }) => uri,
          ),
        }),
    ...(prompts.length === 0
      ? {}
      : {
          prompts: sortedBy(
            prompts.map(({ name, description, arguments: list }) =>
              defined({
                name,
                description: described(description),
                arguments: list?.map((one) =>
                  defined({
                    name: one.name,
                    description: described(one.description),
                    required: one.required,
                  }),
                ),
              }),
            ),
            ({ name }) => name,
          ),
        }),
  };
}

/** `repo://{owner}/{name}` becomes `repo://*`: the format knows `*` only, which stands for any text. */
function toPattern(template: string): string {
  return template.replaceAll(/\{[^{}]*\}/g, "*").replaceAll(/\*(?:[^*]*\*)+/g, "*");
}

/** An empty description is none. */
function described(text: unknown): string | undefined {
  return typeof text === "string" && text !== "" ? text : undefined;
}

/** The module part of a package's name for any name of a server: `Git Tools` becomes `git-tools`. */
export function toModule(name: string): string {
  const words = name
    .replace(/^@[^/]*\//, "")
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return words.slice(0, 100) || "server";
}

function sortedBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return items.toSorted((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}

/** The object without its undefined fields: documents are compared with what is written in them. */
export function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as T;
}
