// Local program that serves HTTP: started before the connection is opened, and stopped with it.

import { connect as dial } from "node:net";
import { changedError, isPortolanError, PortolanError } from "../../../errors/index.ts";
import { launchHttp } from "../../../launch/index.ts";
import type { HttpProgram, UrlEndpoint } from "../../../model/index.ts";
import { type ChildGroup, describeExit } from "../../../process/index.ts";
import type { Session, SessionOptions } from "../../session/session.ts";
import { pause } from "../../waiting.ts";

const POLL_MS = 50;

export async function withProgram(
  { program, ...endpoint }: UrlEndpoint & { readonly program: HttpProgram },
  options: SessionOptions,
  connect: (endpoint: UrlEndpoint) => Promise<Session>,
): Promise<Session> {
  const { definition, report, onStderr, onLaunch, launchContext: context, signal } = options;
  const { name: server, launch: settings, roots } = definition;
  const request = { server, endpoint: program, settings, roots, report, onStderr, onLaunch, signal, context };
  const { child, port } = await launchHttp(request, signal);
  const gone = child.exited.then(({ code, signal: by }) => {
    return new PortolanError("SERVER_CRASHED", `${server} ${describeExit({ code, signal: by })}`, {
      server,
      stderr: child.stderrTail() || undefined,
      data: { exitCode: code, signal: by },
    });
  });
  try {
    const url = new URL(endpoint.url);
    url.port = String(port);
    await answering(url, child, signal);
    const died = gone.then((error): never => {
      throw error;
    });
    died.catch(() => {});
    const session = await Promise.race([connect({ ...endpoint, url: url.href }), died]);
    session.onClose = () => child.stop();
    void gone.then((error) => options.closed(session, error));
    return session;
  } catch (error) {
    const stderr = child.stderrTail();
    await child.stop();
    if (!isPortolanError(error) || error.stderr !== undefined || stderr === "") throw error;
    throw changedError(error, { server, stderr, cause: error });
  }
}

/** Waits until the port accepts connections. Throws when the signal aborts; returns when the program ended. */
async function answering(url: URL, child: ChildGroup, signal: AbortSignal): Promise<void> {
  let gone = false;
  void child.exited.then(() => {
    gone = true;
  });
  while (!gone && !(await isOpen(url, signal))) {
    // A pause ends at once after an abort, so without this check the loop would not end.
    signal.throwIfAborted();
    await pause(POLL_MS, signal);
  }
}

function isOpen({ hostname, port }: URL, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(Number(port), hostname);
    const over = (open: boolean): void => {
      signal.removeEventListener("abort", refuse);
      socket.destroy();
      resolve(open);
    };
    const refuse = (): void => over(false);
    signal.addEventListener("abort", refuse, { once: true });
    socket.once("connect", () => over(true));
    socket.on("error", refuse);
  });
}
