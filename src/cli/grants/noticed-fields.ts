// The fields of a new server in portolan.yaml, with grants for the files that it is started with.

import { shellWord } from "../../base/text/command-line.ts";
import { definedOnly, filled } from "../../formats/manifest/index.ts";
import type { ServerFields } from "../../formats/workspace/index.ts";
import { isObject, type NamedHost } from "../../model/index.ts";
import type { Cli } from "../context.ts";
import { computerOf } from "../workspace/folder.ts";
import { noticePaths, type NoticeRequest } from "./notice.ts";
import { absolutePath, writtenPath } from "./paths.ts";

export interface NoticedFieldsRequest extends Pick<NoticeRequest, "strict" | "asks" | "notes" | "plain"> {
  readonly alias: string;
  readonly fields: ServerFields;
  /** The folder of portolan.yaml, where relative paths begin. */
  readonly folder: string;
  /** Default: `portolan grant <alias>`, which works once the server is in the file. */
  readonly how?: NoticeRequest["how"];
}

export interface CompletedFields {
  readonly fields: ServerFields;
  /** Creates what the grants need, such as a data folder. Called before the fields are written. */
  readonly prepare?: () => Promise<void>;
  /** Hosts that the server is started with, and that nobody granted. */
  readonly openHosts?: readonly NamedHost[];
}

export async function withNoticedFields(cli: Cli, request: NoticedFieldsRequest): Promise<CompletedFields> {
  const { alias, fields, folder, strict, asks, notes, plain } = request;
  const { command = "", npm, args, env, cwd } = fields;
  const { home } = computerOf(cli.io, folder);
  const block = isObject(fields.sandbox) ? fields.sandbox : {};
  const mode = isObject(fields.sandbox) ? block.mode : fields.sandbox;
  if ((command === "" && npm === undefined) || mode === "off" || mode === false) return { fields };
  const fs = isObject(block.fs) ? (block.fs as Readonly<Record<string, readonly string[]>>) : {};
  const whole = (paths: readonly string[] = []): string[] =>
    paths.map((path) => absolutePath(path, folder, home));
  const byGrant = (flags: string): string =>
    `portolan grant ${shellWord(alias)} ${flags.replaceAll("--allow-", "--")}`;
  const {
    read,
    write,
    needs,
    network: named,
    openHosts,
  } = await noticePaths(cli, {
    server: {
      alias,
      origin: { file: folder, line: 1, column: 1, format: "command line" },
      enabled: true,
      endpoint: {
        transport: "stdio",
        ...(npm === undefined ? { command } : { kind: "npm" as const, package: npm }),
        ...{ args, env },
        cwd: cwd === undefined ? folder : absolutePath(cwd, folder, home),
      },
      launch: {
        sandbox: {
          fs: { read: whole(fs.read), write: whole(fs.write) },
          network: Array.isArray(block.network) ? (block.network as string[]) : [],
        },
      },
    },
    ...{ plain, strict, asks, notes, how: request.how ?? byGrant },
  });
  const hosts = [...needs.network, ...named];
  const isOpen = read.length + write.length + needs.write.length + hosts.length === 0;
  if (isOpen) return { fields, openHosts };
  const written = (old: readonly string[] = [], added: readonly string[]): readonly string[] | undefined =>
    filled([...old, ...added.map((path) => writtenPath(path, folder, home))]);
  const network = Array.isArray(block.network) ? (block.network as string[]) : [];
  const access = {
    read: written(fs.read, read),
    write: written(fs.write, [...write, ...needs.write]),
  };
  const sandbox = definedOnly<object>({
    ...(mode === undefined ? {} : { mode }),
    ...block,
    network: hosts.length === 0 ? block.network : [...network, ...hosts],
    fs: filled(definedOnly<object>({ ...fs, ...access })),
  }) as ServerFields["sandbox"];
  return {
    fields: { ...fields, env: filled({ ...env, ...needs.env }), sandbox },
    prepare: needs.prepare,
    openHosts,
  };
}
