import { describe, expect, test } from "vitest";
import { parseProgram } from "../../model/index.ts";
import { ownerTagAnywhere } from "../../process/index.ts";
import type { SandboxPolicy } from "../types.ts";
import { openDocker } from "./backend.ts";
import { orphansAmong, ownerWords, reapContainers } from "./engine.ts";

const [, , namespace = "", machine = ""] = ownerTagAnywhere().split(".");
const GONE = `4194303.1.${namespace}.${machine}`;
const ID = "ab".repeat(32);
const NAME = "portolan-0123456789abcdef";

const isOrphan = (labels: string, name = NAME, id = ID): boolean =>
  orphansAmong(`${id}\t${name}\t${labels}\n`).length > 0;

describe.skipIf(process.platform !== "linux")("orphaned containers of an engine", () => {
  test("are containers whose owner process is gone, in the formats of Docker and Podman", () => {
    for (const labels of [
      `portolan.owner=${GONE}`,
      `maintainer=a, b <c>,portolan.owner=${GONE},z=1`,
      `map[portolan.owner:${GONE}]`,
      `map[maintainer:a b portolan.owner:${GONE} z:1]`,
    ])
      expect([labels, isOrphan(labels)]).toEqual([labels, true]);
    const list = `${ID}\t${NAME}\tportolan.owner=${GONE}\r\n\n${"cd".repeat(6)}\t${NAME}\tportolan.owner=${GONE}`;
    expect(orphansAmong(list)).toEqual([ID, "cd".repeat(6)]);
  });

  test("do not include any other containers", () => {
    for (const labels of [
      ownerWords()[1] ?? "",
      `portolan.owner=4194303.1.${namespace}`,
      `portolan.owner=4194303.1.1.${machine}`,
      `portolan.owner=4194303.1.${namespace}.${"0".repeat(32)}`,
      `not.portolan.owner=${GONE}`,
      `portolan.owner=${GONE}0`,
      `portolan.owner=`,
      "",
    ])
      expect([labels, isOrphan(labels)]).toEqual([labels, false]);
    // A container of an image that was committed from a container of Portolan has the same labels.
    expect(isOrphan(`portolan.owner=${GONE}`, "somebodys-own")).toBe(false);
    expect(isOrphan(`portolan.owner=${GONE}`, NAME, "--all")).toBe(false);
  });

  test("have a label with their owner; a container without a sandbox has it only with --rm", async () => {
    const words = async (line: string): Promise<string> => {
      const [command = "", ...args] = line.split(" ");
      const run = parseProgram({ command, args });
      if (run.kind !== "docker") throw new Error(run.kind);
      const program = { file: command, args, cwd: undefined, env: {} };
      const context = { server: "s", report: () => {}, onDenied: () => {}, warnedImages: new Set<string>() };
      return (await openDocker(run, 8000).wrap(program, {} as SandboxPolicy, context)).args.join(" ");
    };
    expect(await words("docker run --rm image")).toContain(ownerWords().join(" "));
    expect(await words("docker run image")).not.toContain("portolan.owner");
    expect(await words("docker run --rm=false image")).not.toContain("portolan.owner");
  });

  test("are not searched without an engine, and nothing fails", async () => {
    await reapContainers({ file: "/nowhere/docker" });
    await reapContainers({ file: "/bin/false" });
  });
});
