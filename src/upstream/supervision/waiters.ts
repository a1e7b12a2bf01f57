// Calls that wait for the same session.

import type { PortolanError } from "../../errors/index.ts";
import type { Upstream } from "../upstream.ts";

export interface Waiters {
  readonly opened: Promise<Upstream>;
  readonly resolve: (upstream: Upstream) => void;
  readonly reject: (error: PortolanError) => void;
}

export function newWaiters(): Waiters {
  let resolve: Waiters["resolve"] = () => {};
  let reject: Waiters["reject"] = () => {};
  const opened = new Promise<Upstream>((onOpened, onFailed) => {
    resolve = onOpened;
    reject = onFailed;
  });
  opened.catch(() => {});
  return { opened, resolve, reject };
}
