// Reads the tools of all servers and drivers of a workspace beside their pins.

import type { JsonObject, ToolDefinition } from "../../model/index.ts";
import type { OpenedWorkspace } from "../workspace/workspace-hub.ts";
import type { Member } from "../member/member.ts";
import { driverKey } from "./pin-book.ts";
import { type LivePin, problemOf, type ServerPins } from "./pin-report.ts";
import { NO_PINS, type PinState } from "./pin-state.ts";

type Opened = Pick<OpenedWorkspace, "hub" | "pinBook" | "driverPins" | "redactor">;

export async function readPins({ hub, pinBook, driverPins, redactor }: Opened): Promise<ServerPins[]> {
  const members = hub.members.filter(
    ({ config }) => config.enabled && config.endpoint.transport !== "contracts",
  );
  const servers = members.map((member) => ofMember(member));
  const drivers = Array.from(driverPins.drivers, async ([id, { state, tools }]): Promise<ServerPins> => {
    const hashes = await pinBook.hashesOf({ tools: tools as readonly ToolDefinition[], prompts: [] });
    return {
      server: id,
      key: driverKey(id),
      kind: "driver",
      ...stateOf(id, state),
      tools: tools.map((definition, index) =>
        toLivePin(redactor.redactValue(definition), hashes.tools[index] ?? null, state),
      ),
    };
  });
  const all = await Promise.all([...servers, ...drivers]);
  return all.toSorted((a, b) => (a.server < b.server ? -1 : a.server > b.server ? 1 : 0));
}

async function ofMember(member: Member): Promise<ServerPins> {
  const { alias } = member;
  if (member.inventory.hashes === undefined) await member.hashTools();
  await member.pins.explained();
  const { state } = member.pins;
  return {
    server: alias,
    key: alias,
    kind: "server",
    ...stateOf(alias, state),
    tools: member.pins.definitions().map(({ definition, hash }) => toLivePin(definition, hash, state)),
  };
}

function stateOf(server: string, state: PinState): Pick<ServerPins, "mode" | "removed" | "problem"> {
  return {
    mode: state === NO_PINS ? undefined : state.mode,
    removed: state.removed,
    problem: problemOf(server, state),
  };
}

function toLivePin(definition: JsonObject, hash: string | null, state: PinState): LivePin {
  const name = String(definition.name);
  const compared = state.tools.get(name);
  return {
    name,
    verdict: compared?.verdict ?? (hash === null ? "unpinnable" : "new"),
    hash: compared === undefined ? (hash ?? undefined) : compared.hash,
    approved: compared?.approved,
    fields: compared?.fields,
    definition,
  };
}
