// Facts of a driver: its server, the tools that its bindings call, and the secrets that reach the server.

import { type Driver, MODERN_REVISION } from "../../model/index.ts";
import { defined, type PackageFacts, toModule } from "./facts.ts";
import { permissionsOfSandbox } from "./from-mcpfile.ts";

/** A driver's version is that of its file, which is also the version of the package. */
export function factsOfDriver(driver: Driver, file: string): PackageFacts {
  const { id, version, description, server, launch, prompts, resources, tags, origin } = driver;
  const tools = [...new Set(driver.implements.map(({ toolName }) => toolName))].sort();
  const isRemote = server.kind === "remote";
  const spawns = launch.sandbox?.exec?.spawn === true || (launch.sandbox?.exec?.allow ?? []).length > 0;
  const permissions = [
    ...(isRemote ? ["network"] : permissionsOfSandbox(launch.sandbox)),
    ...(spawns ? ["process"] : []),
  ];
  const names = Object.keys(origin.places ?? {}).flatMap((key) =>
    key.startsWith("secret:") ? [key.slice("secret:".length)] : [],
  );
  return {
    module: toModule(id),
    version,
    description: description.length < 200 ? description : undefined,
    mcp: {
      version: driver.protocolVersion ?? MODERN_REVISION,
      transport: isRemote ? [driver.transport === "sse" ? "sse" : "streamable-http"] : ["stdio"],
      executable: file,
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
    requirements: toRequirements(launch.requires),
    metadata: defined({ keywords: tags.length === 0 ? undefined : [...tags] }),
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
