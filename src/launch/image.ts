// Servers that are images: fetched before they start, and reached at a port where they speak HTTP.

import { PortolanError } from "../errors/index.ts";
import type { DockerRun, HttpProgram } from "../model/index.ts";
import { ChildGroup, findProgram } from "../process/index.ts";
import { type DockerSpawnable, loadDocker } from "../sandbox/index.ts";
import type { StartRequest } from "./launch.ts";
import { declaredEnvironment, type LaunchRequest, planned, prepare } from "./prepare.ts";

/** A server that is reached at a port; the port on this machine is chosen here. */
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
    });
  }
}

function notAnImage(server: string): PortolanError {
  return new PortolanError(
    "CONFIG_INVALID",
    `${server} is a program, and only an image is started for HTTP`,
    {
      server,
      hint: "Declare it as docker: <image>, or start it yourself and give its url.",
    },
  );
}

/** An engine that is not there is for the start to say. */
export async function pull({ engine, image }: DockerRun, request: LaunchRequest): Promise<void> {
  const { engineEnvironment, ensureImage, probeEngine, reapContainers } = await loadDocker();
  const env = engineEnvironment(declaredEnvironment(request));
  if (!(await probeEngine(engine, env)).available) return;
  const { server, signal, onLaunch } = request;
  const file = await findProgram(request.endpoint.command, { server });
  const onProgress = ({ what }: { what: string }): void => onLaunch?.({ type: "progress", server, what });
  // Before the start, since what was left behind may hold a port that is needed; and beside the other question, so that it takes no longer.
  await Promise.all([
    ensureImage({ file, env, image, server, signal, onProgress }),
    reapContainers({ file, env }, signal),
  ]);
}
