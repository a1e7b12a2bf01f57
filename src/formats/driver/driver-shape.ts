// The shape of a DRIVER.md, as far as it is the same for drivers of every kind.

import { DURATION_ISO } from "./iso-duration.ts";
import { type ObjectShape, type Shape } from "../document/index.ts";
import {
  COST_CLASS,
  DESCRIPTION,
  KINDS,
  METADATA,
  NAME,
  retryShape,
  tags,
  TEXTS,
  VERSION,
  whole,
} from "./fields.ts";
import { INSTALL_SHAPE } from "./install.ts";

const closed = (description: string, fields: ObjectShape["fields"]): ObjectShape => ({
  type: "object",
  description,
  fields,
});
const text = (description: string): Shape => ({ type: "string", description });
const command = (description: string): Shape => ({ type: "string", empty: true, description });

const COST: ObjectShape = closed("What a call costs with this driver.", {
  cost_class: COST_CLASS,
  cost_units_per_call: { type: "number", minimum: 0, description: "In thousandths of a cent." },
  currency: {
    type: "string",
    pattern: "^[A-Z]{3}$",
    says: "Write three capital letters, such as USD.",
    description: "The currency, in three letters.",
  },
});

const TIMEOUT = whole(100, "How long a call may take, in milliseconds; at most what the contract allows.");
const RETRY = retryShape(10, false);

const HTTP: ObjectShape = closed("A request, and the status that it should have.", {
  method: { type: "string", required: true, enum: ["GET", "POST", "HEAD"], description: "the method" },
  url: { type: "string", required: true, description: "the address" },
  expect_status: whole(100, "The status of a good answer.", 599),
});

const EVERY: Shape = {
  type: "string",
  pattern: DURATION_ISO,
  description: "How often, such as PT5M.",
};

const AUTH: ObjectShape = closed("How somebody logs in, and what is kept of it.", {
  ref: text("The SECRETS.md with the secrets that it needs."),
  state: closed("What a login leaves behind.", {
    paths: { ...TEXTS, description: "Files." },
    env: {
      type: "list",
      unique: true,
      items: {
        type: "string",
        pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
        says: "Write the name of a variable, such as EXAMPLE_API_KEY.",
      },
      description: "Variables.",
    },
  }),
  login: closed("How a login is made.", {
    cmd: command("A command."),
    url: text("A page."),
    interactive: { type: "boolean", default: false, description: "A person has to be there." },
    requires_callback_url: { type: "boolean", default: false, description: "It comes back to a URL." },
    completes_when: closed("How it shows that it is done.", {
      cmd: command("A command."),
      exit_code: {
        type: "number",
        integer: true,
        description: "The exit code that the command should have.",
      },
      http: HTTP,
    }),
  }),
  refresh: closed("How a login is kept fresh.", {
    cmd: command("A command; empty when a program does it."),
    url: text("An address."),
    every: EVERY,
  }),
  expiry: closed("How it shows that a login has ended.", {
    detect: text("exit_code:N, http_status:N, exception:Name or header:NAME:VALUE."),
  }),
});

const HEALTH: ObjectShape = closed("How it shows that the driver works.", {
  method: { type: "string", required: true, enum: ["ping", "exec", "http", "noop"], description: "how" },
  cmd: text("For exec: the command."),
  http: HTTP,
  expect_exit: { type: "number", integer: true, description: "For exec: the exit code of a good answer." },
  every: EVERY,
  timeout_ms: { ...whole(100, "How long it may take."), default: 5_000 },
});

const MAPPED: Shape = {
  type: "union",
  options: [
    { type: "string" },
    closed("An argument and where it comes from.", {
      from: { type: "string", required: true, description: "the input that it comes from" },
      transform: text("What is done with the value."),
    }),
  ],
};

/** One entry of `implements`, without what a kind of driver adds under `metadata`. */
export const BINDING_FIELDS: ObjectShape["fields"] = {
  tool: { type: "string", required: true, description: "the path of a TOOL.md, or the id of a contract" },
  version: {
    type: "string",
    required: true,
    scalars: true,
    description: "the versions of the contract that it serves, as npm writes ranges",
  },
  schema_narrowing: closed("What this driver leaves out.", {
    drop_inputs: { ...TEXTS, unique: true, description: "Optional inputs that it does not take." },
    drop_outputs: { ...TEXTS, unique: true, description: "Outputs that it does not give." },
  } as ObjectShape["fields"]),
  mapping: { type: "map", values: MAPPED, description: "Inputs under the names that the backend uses." },
  cost_override: COST,
  timeout_override_ms: TIMEOUT,
  retry_override: RETRY,
  metadata: METADATA,
};

export const DRIVER_SHAPE: ObjectShape = {
  type: "object",
  open: true,
  description: "A driver: how one server keeps the promises of tool contracts.",
  fields: {
    name: NAME,
    id: {
      type: "string",
      required: true,
      pattern: "^[a-z0-9][a-z0-9.\\-]{1,79}$",
      says: "Use 2 to 80 small letters, digits, - and dots, beginning with a letter or a digit: filesystem-mcp.",
      description: "its id, such as filesystem-mcp",
    },
    description: DESCRIPTION,
    version: VERSION,
    kind: { type: "string", required: true, enum: KINDS, description: "what kind of driver it is" },
    implements: {
      type: "list",
      required: true,
      filled: true,
      items: closed("A contract, and how it is served.", BINDING_FIELDS),
      description: "the contracts that it serves",
    },
    install: {
      type: "list",
      items: INSTALL_SHAPE,
      description: "How the program is installed, in order of preference.",
    },
    version_check: closed("How the version of the program is found out, and which will do.", {
      cmd: { type: "string", required: true, description: "a command that prints the version" },
      parse: {
        type: "string",
        required: true,
        maxLength: 1_000,
        description: "a regular expression whose first group is the version",
      },
      range: {
        type: "string",
        required: true,
        scalars: true,
        description: "the versions that will do, as npm writes ranges",
      },
      timeout_ms: { ...whole(100, "How long the command may take."), default: 5_000 },
    }),
    auth: AUTH,
    network: closed("Hosts that it may reach; none when absent.", {
      egress: { ...TEXTS, description: "host, *.host, host:port, an address, or * for every public host." },
      ingress: { ...TEXTS, description: "Not used here." },
    }),
    runner: {
      type: "union",
      options: [{ type: "string" }, { type: "map", values: { type: "any" } }],
      description: "Not used here: an MCP server has a process of its own.",
    },
    region: { ...TEXTS, description: 'Where it works; ["global"] when absent.' },
    policy_tags: tags("Words that the rules of a workspace go by."),
    cost_override: COST,
    timeout_override_ms: TIMEOUT,
    retry_override: RETRY,
    health_check: HEALTH,
    requires: closed("The machines that it runs on.", {
      os: {
        type: "list",
        items: { type: "string", enum: ["darwin", "linux", "windows"] },
        description: "Operating systems.",
      },
      arch: {
        type: "list",
        items: { type: "string", enum: ["x64", "arm64", "x86", "arm"] },
        description: "Processors.",
      },
      min_disk_mb: whole(0, "Not used here."),
      min_memory_mb: whole(0, "Not used here."),
    }),
    examples: {
      type: "list",
      items: {
        type: "object",
        open: true,
        fields: {
          goal: { type: "string", required: true, description: "what is to be reached" },
          note: { type: "string", empty: true, description: "What is worth knowing." },
          cmd: { type: "string", description: "A command." },
        },
      },
      description: "How it is used.",
    },
    tags: tags("Words to find it by."),
    metadata: METADATA,
  },
};
