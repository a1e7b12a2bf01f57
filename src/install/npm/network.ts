// Detects from npm's output that its registry cannot be reached. npm itself would retry each package for minutes.

/** After this time, a network failure ends npm unless the registry has answered before. */
const PATIENCE_MS = 10_000;

const NETWORK =
  /^(?:ENOTFOUND|EAI_AGAIN|EAI_FAIL|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|FETCH_ERROR|E\w+TIMEOUT|ERR_SOCKET_TIMEOUT)$/;
const FAILED = /^npm http fetch .* attempt \d+ failed with (\w+)$/;
/** Answers of the registry, not of npm's cache. */
const ANSWERED = /^npm http fetch [A-Z]+ \d{3} (?!.*\(cache (?:hit|stale)\)$)/;

/** The log level that prints these lines. */
export const NPM_LOG_LEVEL = "http";

export function isNetworkFailure(kind: string | undefined): boolean {
  return kind !== undefined && NETWORK.test(kind);
}

export interface NetworkWatch {
  /** Called with npm's output, in pieces of any size. */
  heard(text: string): void;
  /** The error code of the last failure, such as EAI_AGAIN. */
  lost(): string | undefined;
  end(): void;
}

/** Calls `giveUp` once, when the registry cannot be reached. */
export function watchNetwork(giveUp: () => void, patienceMs: number = PATIENCE_MS): NetworkWatch {
  let rest = "";
  let failure: string | undefined;
  let lost: string | undefined;
  let isLate = false;
  let isAnswered = false;
  const decide = (): void => {
    if (!isLate || isAnswered || failure === undefined || lost !== undefined) return;
    lost = failure;
    giveUp();
  };
  const timer = setTimeout(() => {
    isLate = true;
    decide();
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
      decide();
    },
    lost: () => lost,
    end: () => clearTimeout(timer),
  };
}
