// `portolan drivers accept`: accepts a driver or contract whose version number is too low for its changes.

import { diffContracts, diffDrivers } from "../../contracts/index.ts";
import { PortolanError } from "../../errors/index.ts";
import {
  registeredContract,
  registeredDrivers,
  rememberContracts,
  rememberDrivers,
} from "../../hub/index.ts";
import type { Cli } from "../context.ts";
import { findControlled, withGateway } from "../control/find.ts";
import { wrap } from "../terminal/layout.ts";
import { plainLine } from "../terminal/safe-text.ts";
import { loadContracts, requireDriver } from "../workspace/contracts.ts";
import { type GatewayField, toGatewayField } from "../workspace/running.ts";

export async function acceptDrivers(cli: Cli, words: readonly string[]): Promise<number> {
  const { output } = cli;
  if (words.length === 0)
    throw new PortolanError("USAGE", "No driver and no contract was given.", {
      hint: "portolan drivers accept <id>. To see the ids of drivers: portolan status. To see the ids of contracts: portolan list contracts",
    });
  const own = await loadContracts(cli);
  const { root } = own.endpoint;
  const contracts = own.endpoint.contracts.filter(({ id }) => words.includes(id));
  const isContract = (id: string): boolean => contracts.some((contract) => contract.id === id);
  const ids = [...new Set(words)].filter((id) => !isContract(id));
  const drivers = ids.map((id) => requireDriver(own, id).driver);
  const known = await registeredDrivers(root);
  const accepted = drivers.map((driver) => {
    const before = known.get(driver.id);
    const changes = before === undefined ? [] : diffDrivers(before, driver).changes;
    return { id: driver.id, version: driver.version, before: before?.version, changes };
  });
  for (const contract of contracts) {
    const before = await registeredContract(root, contract);
    const changes = before === undefined ? [] : diffContracts(before, contract).changes;
    accepted.push({ id: contract.id, version: contract.version, before: before?.version, changes });
  }
  await rememberDrivers(root, drivers);
  await rememberContracts(root, contracts);
  const gateways = await restartContracts(cli, own.alias);
  if (output.form === "json") output.json({ accepted, ...(gateways.length === 0 ? {} : { gateways }) });
  else {
    for (const { id, version, before, changes } of accepted) {
      const since = before === undefined ? "it was not registered before" : `changes since ${before}`;
      const lines = changes.map(({ what, needs, why }) =>
        wrap(`  ${needs} ${plainLine(what, 200)}: ${plainLine(why, 300)}`, output.width, 4),
      );
      const what = before !== undefined && changes.length === 0 ? "no changes" : since;
      output.print([`${output.colors.bold(`${id}@${version}`)} is accepted (${what}).`, ...lines].join("\n"));
    }
    for (const { pid } of gateways)
      output.print(output.colors.dim(`The running gateway (process ${pid}) now uses the accepted versions.`));
  }
  return 0;
}

/** A running gateway compares drivers and contracts when it opens them, so that it opens them again. */
async function restartContracts(cli: Cli, alias: string): Promise<readonly GatewayField[]> {
  const gateways = (await findControlled(cli, {})).map(async (gateway) =>
    withGateway(gateway, async (client) => {
      if (!client.facts.servers.includes(alias)) return [];
      await client.restart(alias, cli.interrupt.signal);
      return [toGatewayField(gateway)];
    }),
  );
  return (await Promise.all(gateways)).flat();
}
