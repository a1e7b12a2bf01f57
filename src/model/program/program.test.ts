import { describe, expect, test } from "vitest";
import { toCommandLine, parseProgram } from "./program.ts";

const parse = (line: string): ReturnType<typeof parseProgram> => {
  const [command = "", ...args] = line.split(" ");
  return parseProgram({ command, args });
};

describe("parseProgram: npx and similar commands", () => {
  test.each([
    ["npx -y pkg", { name: "pkg", range: "latest", spec: "pkg@latest", args: [] }],
    ["npx pkg@^1.2.0 --port 3 -y", { name: "pkg", range: "^1.2.0", args: ["--port", "3", "-y"] }],
    ["npx --yes @scope/pkg@next a", { name: "@scope/pkg", range: "next", args: ["a"] }],
    ["npx -y -- pkg -- a", { name: "pkg", args: ["--", "a"] }],
    ["npx -p @scope/pkg@1 run a", { name: "@scope/pkg", range: "1", bin: "run", args: ["a"] }],
    ["npx --package=pkg -y run", { name: "pkg", bin: "run", args: [] }],
    ["/opt/node/bin/npx -q pkg", { name: "pkg" }],
    ["npx.cmd -y pkg", { name: "pkg" }],
    ["npm exec -y pkg -- --flag", { name: "pkg", args: ["--flag"] }],
    ["npm x pkg a --yes", { name: "pkg", args: ["a"] }],
    ["npx --loglevel=warn --quiet --prefer-offline pkg a", { name: "pkg", args: ["a"] }],
    ["npx --loglevel warn pkg", { name: "pkg", args: [] }],
    [
      "npx --registry=https://r.test pkg@1 a",
      { range: "1", spec: "pkg@1 --registry=https://r.test/", registry: "https://r.test/", args: ["a"] },
    ],
    ["npx --registry http://r.test/x -p pkg run", { registry: "http://r.test/x", bin: "run" }],
    ["bunx @scope/pkg@1 --port 3", { name: "@scope/pkg", range: "1", args: ["--port", "3"] }],
    ["bun x -y pkg a", { name: "pkg", args: ["a"] }],
    ["bunx -p pkg run --silent", { name: "pkg", bin: "run", args: ["--silent"] }],
    ["pnpm dlx pkg@next -c", { name: "pkg", range: "next", args: ["-c"] }],
    ["pnpm --silent --package=pkg dlx run a", { name: "pkg", bin: "run", args: ["a"] }],
    ["pnpx pkg", { name: "pkg", args: [] }],
    ["yarn dlx -q -p pkg run", { name: "pkg", bin: "run" }],
  ])("parses: %s", (line, expected) => {
    expect(parse(line)).toMatchObject({ kind: "npm", ...expected });
  });

  test.each([
    ["npx -c ls", "shell"],
    ["npx --call=ls", "shell"],
    ["npx", "no package"],
    ["npx -p pkg", "no program"],
    ["npx -p", "needs a value"],
    ["npx -p a -p b c", "more than one"],
    ["npx --registry=file:///x pkg", "not the URL of a registry"],
    ["npx --registry=http://me:word@r.test pkg", "credentials"],
    ["npx --registry", "needs a value"],
    ["npx --prefix=/x pkg", "is not supported"],
    ["npx --userconfig ./npmrc pkg", "is not supported"],
    ["npx --no-install pkg", "is not supported"],
    ["npx --yes=false pkg", "is not supported"],
    ["npx github:someone/thing", "repository"],
    ["npx someone/thing", "repository"],
    ["npx ./here", "file"],
    ["npx thing.tgz", "file"],
    ["npx https://x.test/y.tgz", "a URL"],
    ["npx a@npm:b", "a URL"],
    ["npx -p pkg ../x", "program"],
    ["npm exec pkg --flag", "is not supported"],
    ["bunx --bun pkg", "is not supported"],
    ["pnpm dlx --allow-build=esbuild pkg", "is not supported"],
    ["pnpm dlx -c ls", "shell"],
    ["pnpm dlx", "no package"],
    ["yarn dlx someone/thing", "repository"],
  ])("rejects: %s", (line, why) => {
    let thrown: unknown;
    try {
      parse(line);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(why) as string,
      hint: expect.stringContaining("npm: PACKAGE") as string,
    });
  });

  test.each([
    ["npx -y pkg a", true],
    ["npx -p pkg run", true],
    ["npm exec pkg", true],
    ["bunx pkg", true],
    ["npx pkg@latest", undefined],
    ["npx --registry=https://r.test pkg", undefined],
    ["pnpm dlx pkg", undefined],
  ])("%s prefers an installed package: %s", (line, prefersLocal) => {
    expect(parse(line)).toMatchObject({ kind: "npm", name: "pkg" });
    expect((parse(line) as { prefersLocal?: boolean }).prefersLocal).toBe(prefersLocal);
  });

  test("other programs and other npm subcommands are plain binaries", () => {
    for (const line of [
      "node server.js",
      "npm start",
      "uvx thing",
      "npxx pkg",
      "bun run x",
      "yarn start",
      "pnpm run dlx",
    ])
      expect(parse(line)).toEqual({
        kind: "binary",
        command: line.split(" ")[0],
        args: line.split(" ").slice(1),
      });
  });
});

describe("parseProgram: docker", () => {
  test("separates options, image and arguments", () => {
    expect(parse("docker run -i --rm -e TOKEN -v /a:/b --network=none image:1 --flag x")).toEqual({
      kind: "docker",
      command: "docker",
      words: "run -i --rm -e TOKEN -v /a:/b --network=none image:1 --flag x".split(" "),
      engine: "docker",
      image: "image:1",
      args: ["--flag", "x"],
      options: [
        { name: "interactive", value: undefined, text: "-i" },
        { name: "rm", value: undefined, text: "--rm" },
        { name: "env", value: "TOKEN", text: "-e TOKEN" },
        { name: "volume", value: "/a:/b", text: "-v /a:/b" },
        { name: "network", value: "none", text: "--network=none" },
      ],
    });
    const packed = parse("podman container run -itePATH=x -p8080:80 --net host --rm=false image");
    expect(packed).toMatchObject({ kind: "docker", engine: "podman", image: "image" });
    const options = packed.kind === "docker" ? packed.options : [];
    expect(options.map(({ name, value }) => [name, value])).toEqual([
      ["interactive", undefined],
      ["tty", undefined],
      ["env", "PATH=x"],
      ["publish", "8080:80"],
      ["network", "host"],
    ]);
  });

  test.each([
    ["docker run", "no image"],
    ["docker run -i", "no image"],
    ["docker run -e", "needs a value"],
    ["docker run --unheard-of x image", "is not supported"],
    ["docker run -X image", "is not supported"],
    ["docker exec thing", 'not "docker run"'],
    ["docker --context x run image", 'not "docker run"'],
  ])("starts an unsupported command unchanged: %s", (line, why) => {
    expect(parse(line)).toMatchObject({ kind: "binary", note: expect.stringContaining(why) as string });
  });
});

describe('a program whose config has a "kind"', () => {
  const npm = { kind: "npm", package: "@a/b@^1", bin: "serve", args: ["x"] } as const;
  const image = { kind: "image", image: "a/b:1", args: ["x"], env: { TOKEN: "t" } } as const;

  test("is parsed without a command line", () => {
    expect(parseProgram(npm)).toMatchObject({
      kind: "npm",
      name: "@a/b",
      range: "^1",
      bin: "serve",
      args: ["x"],
    });
    expect(parseProgram(image)).toMatchObject({
      ...{ kind: "docker", engine: "docker", image: "a/b:1", args: ["x"] },
      options: [{ name: "interactive" }, { name: "rm" }, { name: "env", value: "TOKEN" }],
    });
    expect(() => parseProgram({ kind: "npm", package: "./here" })).toThrow("cannot run this npm command");
  });

  test("has an equivalent command line for other clients", () => {
    for (const program of [npm, { ...npm, bin: undefined }, image]) {
      const line = { ...toCommandLine(program), env: program === image ? image.env : {} };
      expect(parseProgram(line)).toEqual(parseProgram(program));
    }
    expect(toCommandLine(image)).toEqual({
      command: "docker",
      args: ["run", "-i", "--rm", "-e", "TOKEN", "a/b:1", "x"],
    });
    expect(toCommandLine({ ...image, port: 80 } as typeof image).args).not.toContain("-i");
    expect(toCommandLine({ command: "node", args: ["a"] })).toEqual({ command: "node", args: ["a"] });
  });
});
