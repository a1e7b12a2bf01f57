// Whether npm reaches its registry, as its own lines tell. Without a network it would go on with what it has kept, and pause
// for long at each part of a package before it does: minutes in all.

/** From then on a failure means that there is no network, if nothing has been answered so far. */
const PATIENCE_MS = 10_000;

const NETWORK =
  /^(?:ENOTFOUND|EAI_AGAIN|EAI_FAIL|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|FETCH_ERROR|E\w+TIMEOUT|ERR_SOCKET_TIMEOUT)$/;
const FAILED = /^npm http fetch .* attempt \d+ failed with (\w+)$/;
/** Not from what npm has kept itself. */
const ANSWERED = /^npm http fetch [A-Z]+ \d{3} (?!.*\(cache (?:hit|stale)\)$)/;

/** Lines of npm that only this file is interested in. */
export const NPM_LOG_LEVEL = "http";

export function isNetworkFailure(kind: string | undefined): boolean {
  return kind !== undefined && NETWORK.test(kind);
}

export interface NetworkWatch {
  /** What npm wrote, in pieces of any size. */
  heard(text: string): void;
  /** The kind of failure that was the last straw, such as EAI_AGAIN. */
  lost(): string | undefined;
  end(): void;
}

/** Calls `giveUp` once, when it is clear that there is no network. */
export function watchNetwork(giveUp: () => void, patienceMs: number = PATIENCE_MS): NetworkWatch {
  let rest = "";
  let failure: string | undefined;
  let lost: string | undefined;
  let isLate = false;
  let isAnswered = false;
  const judge = (): void => {
    if (!isLate || isAnswered || failure === undefined || lost !== undefined) return;
    lost = failure;
    giveUp();
  };
  const timer = setTimeout(() => {
    isLate = true;
    judge();
  }, patienceMs);
  return {
    heard(text) {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (ANSWERED.test(line)) isAnswered = true;
        const [, kind] = FAILED.exec(line) ?? [];
        if (isNetworkFailure(kind)) failure = kind;
      }
      judge();
    },
    lost: () => lost,
    end: () => clearTimeout(timer),
  };
}
