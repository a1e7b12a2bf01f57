// Starts servers that are container images and speak HTTP, and pulls images before a start.

import { shellWord } from "../base/text/command-line.ts";
import { PortolanError } from "../errors/index.ts";
import type { HttpProgram, ParsedProgram } from "../model/index.ts";
import { ChildGroup, findProgram } from "../process/index.ts";
import { type DockerSpawnable, loadDocker } from "../sandbox/index.ts";
import type { StartRequest } from "./launch.ts";
import { configuredEnvironment, type LaunchRequest, planned, prepare } from "./prepare.ts";

/** Starts the container and returns the port on 127.0.0.1 that leads to the server's port. */
export async function launchHttp(
  request: StartRequest & { readonly endpoint: HttpProgram },
  signal: AbortSignal,
): Promise<{ child: ChildGroup; port: number }> {
  const { server, endpoint } = request;
  const prepared = await prepare(request);
  const { spawnable } = prepared;
  const { container, engine } = spawnable as Partial<DockerSpawnable>;
  request.onLaunch?.(planned(prepared));
  const child = await ChildGroup.start(spawnable, server, request.onStderr);
  const ended = new AbortController();
  void child.exited.then(() => ended.abort());
  try {
    if (container === undefined || engine === undefined) throw notAnImage(server);
    const stopped = AbortSignal.any([signal, ended.signal]);
    const { port } = endpoint;
    const { publishedPort } = await loadDocker();
    return { child, port: await publishedPort({ ...engine, container, port, signal: stopped }) };
  } catch (error) {
    await child.stop();
    if (!ended.signal.aborted || signal.aborted) throw error;
    const message = `${server} ended before its port could be reached`;
    throw new PortolanError("SERVER_START_FAILED", message, {
      server,
      stderr: child.stderrTail() || undefined,
      hint: `Check the arguments and the environment of the image. To see how Portolan starts it: portolan why --plan ${shellWord(server)}`,
    });
  }
}

function notAnImage(server: string): PortolanError {
  return new PortolanError(
    "CONFIG_INVALID",
    `${server} is a local program with an HTTP transport, but Portolan starts local programs only with stdio`,
    {
      server,
      hint: "Use stdio, or a container image (docker: <image>). Or start the program yourself, and write its url in the config.",
    },
  );
}

/** Pulls the image if it is missing. If the engine does not answer, the start that follows reports it. */
export async function pull(
  { command, engine, image }: ParsedProgram & { readonly kind: "docker" },
  request: LaunchRequest,
): Promise<void> {
  const { engineEnvironment, ensureImage, probeEngine, reapContainers } = await loadDocker();
  const env = engineEnvironment(configuredEnvironment(request));
  if (!(await probeEngine(engine, env)).available) return;
  const { server, signal, onLaunch } = request;
  const file = await findProgram(command, { server });
  const onProgress = ({ what }: { what: string }): void => onLaunch?.({ type: "progress", server, what });
  // Orphaned containers are removed before the start, because one of them may occupy a port that the server needs.
  await Promise.all([
    ensureImage({ file, env, image, server, signal, onProgress }),
    reapContainers({ file, env }, signal),
  ]);
}
