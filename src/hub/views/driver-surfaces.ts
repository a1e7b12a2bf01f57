// Prompts and resources of drivers in a view with access rules: a caller sees those of a driver if it may use one of its contracts.

import { DRIVER_META, OTHERS_META } from "../../contracts/index.ts";
import { isObject, type JsonObject } from "../../model/index.ts";
import { contractsOfDriver } from "../member/tool-tags.ts";
import type { Inventory } from "../member/inventory.ts";
import type { Member } from "../member/member.ts";
import type { ViewTool } from "./merge.ts";
import { hubName, type Naming } from "./naming.ts";
import { templateMatcher } from "./uri-templates.ts";

type Surfaces = Pick<Inventory, "prompts" | "resources" | "templates">;

export interface ShownSurfaces extends Surfaces {
  /** True when the URI may belong to a hidden driver. The driver is chosen later, so none of them may be hidden. */
  readonly hides: ((uri: string) => boolean) | undefined;
}

export function shownSurfaces(
  { alias, config, inventory }: Member,
  naming: Naming,
  admits: ((tool: ViewTool) => boolean) | undefined,
): ShownSurfaces {
  const { prompts, resources, templates } = inventory;
  if (admits === undefined || config.endpoint.transport !== "contracts")
    return { prompts, resources, templates, hides: undefined };
  const known = new Map<string, boolean>();
  const admitsDriver = (driver: string): boolean => {
    let admitted = known.get(driver);
    if (admitted === undefined) {
      admitted = contractsOfDriver(config, driver).some(({ id, tags }) =>
        admits({
          name: hubName(naming, config, id),
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
  // An entry without a driver id is hidden.
  const shows = ({ _meta: meta }: JsonObject): boolean => {
    if (!isObject(meta)) return false;
    const others = Array.isArray(meta[OTHERS_META]) ? (meta[OTHERS_META] as unknown[]) : [];
    return [meta[DRIVER_META], ...others].every((id) => typeof id === "string" && admitsDriver(id));
  };
  const hidden = [
    ...resources.filter((one) => !shows(one)).map(({ name, uri }) => hiddenMatcher(name, uri)),
    ...templates
      .filter((one) => !shows(one))
      .map(({ name, uriTemplate }) => hiddenMatcher(name, uriTemplate)),
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
function hiddenMatcher(name: string, template: string): (uri: string) => boolean {
  const kind = template.startsWith(`${name}:`) ? `${name}:` : undefined;
  const matches = templateMatcher(template);
  return (uri) => matches(uri) || (kind !== undefined && uri.startsWith(kind));
}
