// All of a workspace together, as `portolan validate` sees it: what one driver says may be wrong only beside another.

import { checkDriver, checkWorkspace } from "../../contracts/index.ts";
import type { Diagnostic } from "../../errors/index.ts";
import type { SecretEntry } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { computerOf } from "../workspace/folder.ts";

export interface WholeWorkspace {
  readonly errors: readonly Diagnostic[];
  /** What its drivers, and what they refer to, list. */
  readonly secrets: readonly SecretEntry[];
  /** The kinds of references that its drivers have. */
  readonly refKinds: ReadonlySet<string>;
}

export async function wholeWorkspace(folder: string, { io }: Pick<Cli, "io">): Promise<WholeWorkspace> {
  const { home } = computerOf(io, folder);
  const { servers, diagnostics } = await io.loadCatalog(folder, { home });
  const endpoint = servers
    .map((server) => server.endpoint)
    .find(({ transport }) => transport === "contracts");
  const found =
    endpoint?.transport === "contracts"
      ? endpoint
      : { contracts: [], drivers: [], secrets: [], root: folder };
  const { contracts, drivers, secrets, root } = found;
  const unbound = drivers.flatMap(
    ({ driver }) => checkDriver(driver, contracts, undefined, { root }).diagnostics,
  );
  const all = drivers.map(({ driver }) => driver);
  // Which drivers are for other hosts is not known here, so that a preference for one is not judged.
  const foreign = contracts.flatMap(({ defaultImplementation }) => defaultImplementation ?? []);
  const names = checkWorkspace({ drivers: all, contracts, secrets, root, foreign });
  const errors = [...diagnostics, ...unbound, ...names].filter(({ severity }) => severity === "error");
  const kinds = all.flatMap(({ resources }) =>
    resources.flatMap((one) => (one.integrateAs === "ref_kind" ? [one.refKindId] : [])),
  );
  return { errors, secrets, refKinds: new Set(kinds) };
}

/** What was not wrong before. */
export function newErrors(before: WholeWorkspace, after: WholeWorkspace): readonly Diagnostic[] {
  const known = new Set(before.errors.map(({ file, message }) => `${file}\n${message}`));
  return after.errors.filter(({ file, message }) => !known.has(`${file}\n${message}`));
}
