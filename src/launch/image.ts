// Servers that are images: fetched before they start, and reached at a port where they speak HTTP.

import { PortolanError } from "../errors/index.ts";
import { findProgram } from "./install/find-program.ts";
import type { StartRequest } from "./launch.ts";
import { type LaunchRequest, planned, prepare } from "./prepare.ts";
import { ChildGroup } from "./process/child.ts";
import type { DockerSpawnable } from "./sandbox/docker.ts";
import { type Engine, ensureImage, probeEngine, publishedPort } from "./sandbox/docker-engine.ts";

/** A server that is reached at a port; the port on this machine is chosen here. */
export async function launchHttp(
  request: StartRequest & { readonly port: number },
  signal: AbortSignal,
): Promise<{ child: ChildGroup; port: number }> {
  const { server, port } = request;
  const { plan, spawnable } = await prepare(request);
  const { container } = spawnable as Partial<DockerSpawnable>;
  request.onLaunch?.(planned(plan));
  const child = await ChildGroup.start(spawnable, server, request.onStderr);
  const ended = new AbortController();
  void child.exited.then(() => ended.abort());
  try {
    if (container === undefined) throw notAnImage(server);
    const file = plan.program;
    const found = { file, container, port, signal: AbortSignal.any([signal, ended.signal]) };
    return { child, port: await publishedPort(found) };
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
export async function pull(engine: Engine, image: string, request: LaunchRequest): Promise<void> {
  if (!(await probeEngine(engine)).available) return;
  const { server, signal, onLaunch } = request;
  const file = await findProgram(request.endpoint.command, { server });
  const onProgress = ({ what }: { what: string }): void => onLaunch?.({ type: "progress", server, what });
  await ensureImage({ file, image, server, signal, onProgress });
}
