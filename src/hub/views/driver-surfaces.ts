// What drivers have beside tools, in a view with rules: a caller that may use none of a driver's contracts sees nothing else of it either.

import { DRIVER_META, OTHERS_META } from "../../contracts/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { contractsOfDriver } from "../member/tool-tags.ts";
import type { Inventory } from "../member/inventory.ts";
import type { Member } from "../member/member.ts";
import type { OfferedTool } from "./merge.ts";
import { hubName, type Naming } from "./naming.ts";
import { templateMatcher } from "./uri-templates.ts";

type Surfaces = Pick<Inventory, "prompts" | "resources" | "templates">;

export interface ShownSurfaces extends Surfaces {
  /** Whether this may be of a driver that is not shown. Which one serves it is not decided here, so that none may. */
  readonly hides: ((uri: string) => boolean) | undefined;
}

export function shownSurfaces(
  { alias, declared, inventory }: Member,
  naming: Naming,
  admits: ((tool: OfferedTool) => boolean) | undefined,
): ShownSurfaces {
  const { prompts, resources, templates } = inventory;
  if (admits === undefined || declared.endpoint.transport !== "contracts")
    return { prompts, resources, templates, hides: undefined };
  const known = new Map<string, boolean>();
  const admitsDriver = (driver: string): boolean => {
    let admitted = known.get(driver);
    if (admitted === undefined) {
      admitted = contractsOfDriver(declared, driver).some(({ id, tags }) =>
        admits({
          name: hubName(naming, declared, id),
          own: id,
          alias,
          tags,
          annotations: inventory.tools.find(({ name }) => name === id)?.annotations,
        }),
      );
      known.set(driver, admitted);
    }
    return admitted;
  };
  // What does not say whose it is is nobody's to see.
  const shows = ({ _meta: meta }: JsonObject): boolean => {
    if (!isObject(meta)) return false;
    const others = Array.isArray(meta[OTHERS_META]) ? (meta[OTHERS_META] as unknown[]) : [];
    return [meta[DRIVER_META], ...others].every((id) => typeof id === "string" && admitsDriver(id));
  };
  const hidden = [
    ...resources.filter((one) => !shows(one)).map(({ name, uri }) => hider(name, uri)),
    ...templates.filter((one) => !shows(one)).map(({ name, uriTemplate }) => hider(name, uriTemplate)),
  ];
  const hides = (uri: string): boolean => hidden.some((matches) => matches(uri));
  return {
    prompts: prompts.filter(shows),
    resources: resources.filter((one) => shows(one) && !hides(one.uri)),
    templates: templates.filter((one) => shows(one) && !hides(one.uriTemplate)),
    hides,
  };
}

/** A reference may be written in more ways than its template shows, but always begins with its kind. */
function hider(name: string, template: string): (uri: string) => boolean {
  const kind = template.startsWith(`${name}:`) ? `${name}:` : undefined;
  const matches = templateMatcher(template);
  return (uri) => matches(uri) || (kind !== undefined && uri.startsWith(kind));
}
