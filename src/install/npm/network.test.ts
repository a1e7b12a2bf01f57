// Lost registries, detected in the output of npm. The lines are those of a real run without a network.

import { expect, test, vi } from "vitest";
import { isNetworkFailure, watchNetwork } from "./network.ts";

const FAILED = "npm http fetch GET https://registry.example/zod attempt 1 failed with EAI_AGAIN\n";
const STALE = "npm http fetch GET 200 https://registry.example/zod 5012ms (cache stale)\n";
const ANSWERED = "npm http fetch GET 200 https://registry.example/zod 96ms (cache miss)\n";

test.each([
  ["only failed requests", [FAILED, FAILED], "EAI_AGAIN"],
  ["failed requests and stale cache entries", [FAILED, STALE, FAILED], "EAI_AGAIN"],
  ["a line in two chunks", [FAILED.slice(0, 20), FAILED.slice(20)], "EAI_AGAIN"],
  ["a successful request", [FAILED, ANSWERED, FAILED], undefined],
  ["a request with status 404", [ANSWERED.replace("200", "404"), FAILED], undefined],
  ["a failure with status 503", [FAILED.replace("EAI_AGAIN", "503")], undefined],
  ["no output", [], undefined],
])("watchNetwork() gives up only if all requests fail: %s", (_, pieces, lost) => {
  vi.useFakeTimers();
  try {
    const giveUp = vi.fn();
    const watch = watchNetwork(giveUp);
    for (const piece of pieces) watch.heard(piece);
    expect(giveUp).not.toHaveBeenCalled();
    vi.advanceTimersByTime(60_000);
    watch.heard(FAILED.replace("EAI_AGAIN", "503"));
    expect(watch.lost()).toBe(lost);
    expect(giveUp).toHaveBeenCalledTimes(lost === undefined ? 0 : 1);
    watch.end();
  } finally {
    vi.useRealTimers();
  }
});

test("isNetworkFailure() recognizes the codes of network failures", () => {
  for (const kind of ["ENOTFOUND", "ECONNREFUSED", "ERR_SOCKET_TIMEOUT", "EIDLETIMEOUT"])
    expect([kind, isNetworkFailure(kind)]).toEqual([kind, true]);
  for (const kind of ["E404", "EINTEGRITY", "ENOSPC", undefined])
    expect([kind, isNetworkFailure(kind)]).toEqual([kind, false]);
});
