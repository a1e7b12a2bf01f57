// The four ways in which a driver says where its server is.

import type { ObjectShape, Shape } from "../document/index.ts";
import { whole } from "./fields.ts";

const VALUES: Shape = { type: "string", scalars: true, empty: true };

const PROGRAM: ObjectShape["fields"] = {
  args: { type: "list", items: VALUES, description: "Its arguments, one per word." },
  env: { type: "map", values: VALUES, description: "Its environment; values may hold ${secrets.NAME}." },
};

const variant = (kind: string, description: string, fields: ObjectShape["fields"]): ObjectShape => ({
  type: "object",
  open: true,
  description,
  fields: {
    kind: { type: "string", required: true, enum: [kind], description: "where the server is" },
    ...fields,
  },
});

/** By `server.kind`. */
export const SERVER_SHAPES: Readonly<Record<string, ObjectShape>> = {
  binary: variant("binary", "A program on this machine.", {
    path: {
      type: "string",
      required: true,
      description: "the program: a name, or a path that is absolute or starts at the workspace",
    },
    ...PROGRAM,
  }),
  npm: variant("npm", "A package of npm.", {
    package: { type: "string", required: true, description: "the package, with a version if you like" },
    ...PROGRAM,
  }),
  docker: variant("docker", "An image of a container.", {
    image: { type: "string", required: true, description: "the image" },
    ...PROGRAM,
    port: whole(1, "For http: the port inside of the container (default 8080).", 65_535),
    path: {
      type: "string",
      pattern: "^/",
      says: "Write a path that begins with /.",
      description: "For http: the path that is asked for (default /mcp).",
    },
  }),
  remote: variant("remote", "A server elsewhere.", {
    url: { type: "string", required: true, description: "its address" },
    headers: { type: "map", values: VALUES, description: "Headers; values may hold ${secrets.NAME}." },
    auth: {
      type: "object",
      description: "Which secret is sent; the only one of auth.state.env as a bearer token when absent.",
      fields: {
        type: {
          type: "string",
          required: true,
          enum: ["bearer", "header", "none"],
          description: "how it is sent",
        },
        env: {
          type: "string",
          pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
          says: "Write the name of the secret as a variable, such as EXAMPLE_API_KEY.",
          description: "The name of the secret, such as EXAMPLE_API_KEY.",
        },
        name: { type: "string", description: "For header: the name of the header." },
      },
    },
  }),
};

export interface CheckedServer {
  readonly kind?: string;
  readonly path?: string;
  readonly package?: string;
  readonly image?: string;
  readonly url?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly port?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly auth?: {
    readonly type?: "bearer" | "header" | "none";
    readonly env?: string;
    readonly name?: string;
  };
}
