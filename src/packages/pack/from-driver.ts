// Facts of a driver: the npm package that is its server, the tools that its bindings call, and the secrets that reach the server.

import { type Driver, MODERN_REVISION } from "../../model/index.ts";
import { defined, type PackageFacts, toModule } from "./facts.ts";
import { permissionsOfSandbox } from "./from-mcpfile.ts";

/**
 * The package runs the server of the driver, and carries the driver with its contracts in `files`. Its version is that of the
 * driver; the hash and the program are those of the npm package, whose facts are `npm`.
 */
export function factsOfDriver(
  driver: Driver & { readonly server: { readonly kind: "npm" } },
  npm: PackageFacts,
  files: Readonly<Record<string, string>>,
): PackageFacts {
  const { id, version, description, server, launch, prompts, resources, tags } = driver;
  const tools = [...new Set(driver.implements.map(({ toolName }) => toolName))].sort();
  const spawns = launch.sandbox?.exec?.spawn === true || (launch.sandbox?.exec?.allow ?? []).length > 0;
  const permissions = [...permissionsOfSandbox(launch.sandbox), ...(spawns ? ["process"] : [])];
  const names = Object.entries(server.env).flatMap(([name, value]) => (value.includes("${") ? [name] : []));
  const requirements = { ...npm.requirements, ...toRequirements(launch.requires) };
  return {
    module: toModule(id),
    version,
    description: description.length < 200 ? description : undefined,
    mcp: {
      version: driver.protocolVersion ?? MODERN_REVISION,
      transport: ["stdio"],
      executable: npm.mcp.executable,
      args: server.args.length === 0 ? undefined : server.args,
      driver: files,
      capabilities: {
        tools: tools.map((name) => ({ name })),
        ...(prompts.length === 0 ? {} : { prompts: prompts.map(({ name }) => ({ name })) }),
        ...(resources.length === 0
          ? {}
          : {
              resources: resources.map(({ uriTemplate }) => ({
                uri: uriTemplate.replaceAll(/\{[^{}]*\}/g, "*"),
              })),
            }),
      },
    },
    variables: names.sort(),
    permissions: [...new Set(permissions)].sort(),
    author: npm.author,
    source: npm.source,
    requirements: Object.keys(requirements).length === 0 ? undefined : requirements,
    metadata: { ...npm.metadata, ...defined({ keywords: tags.length === 0 ? undefined : [...tags] }) },
  };
}

type Requirements = NonNullable<PackageFacts["requirements"]>;

function toRequirements(requires: Driver["launch"]["requires"]): Requirements | undefined {
  const known = <T extends string>(values: readonly string[] | undefined, names: readonly T[]): T[] =>
    names.filter((name) => values?.includes(name) === true);
  const os = known(requires?.os, ["darwin", "linux", "win32"]);
  const arch = known(requires?.arch, ["x64", "arm64", "ia32", "arm"]);
  if (os.length + arch.length === 0) return undefined;
  return defined({ os: os.length === 0 ? undefined : os, arch: arch.length === 0 ? undefined : arch });
}
