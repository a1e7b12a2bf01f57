// An exchange with credentials: they are added to the request, and a request that the server refuses is sent again with other ones.

import type { Agent } from "undici";
import { toPortolanError } from "../../../errors/index.ts";
import type { AuthHeaders, RequestAuth } from "../../../oauth/index.ts";
import { exchange, type ExchangeEvents, type ExchangeRequest, type HttpFailure } from "./exchange.ts";

/** Without `auth` it is a plain exchange. The server does not carry out what it refuses, so that sending again is safe. */
export function authorizedExchange(
  auth: RequestAuth | undefined,
  agent: Agent,
  request: ExchangeRequest,
  events: ExchangeEvents,
): { abort(): void } {
  if (auth === undefined) return exchange(agent, request, events);
  let current: { abort(): void } | undefined;
  let aborted = false;
  const { server } = request;

  const fail = (thrown: unknown, failure?: HttpFailure): void => {
    if (aborted) return;
    const before = failure ?? { status: undefined, headers: {}, json: undefined, neverSent: true };
    // The JSON-RPC error of a refused request is less precise than the reason why there are no credentials.
    events.failed({ ...before, json: undefined, error: toPortolanError(thrown, { server }) });
  };
  const dispatch = (sent: AuthHeaders | undefined, attempt: number): void => {
    if (aborted) return;
    const headers = { ...request.headers, ...sent };
    current = exchange(
      agent,
      { ...request, headers },
      {
        ...events,
        failed: (failure) => {
          const { status, headers: received } = failure;
          if (status !== 401 && status !== 403) return events.failed(failure);
          const challenge = received["www-authenticate"];
          const nonce = received["dpop-nonce"];
          const refusal = {
            status,
            ...{ sent, attempt },
            challenge: challenge && String(challenge),
            nonce: nonce && String(nonce),
          } as const;
          void auth.refused(refusal).then(
            (again) => {
              if (again) send(attempt + 1);
              else if (!aborted) events.failed(failure);
            },
            (error) => fail(error, failure),
          );
        },
      },
    );
  };
  const send = (attempt: number): void => {
    const given = auth.headers(request);
    if (given instanceof Promise) void given.then((headers) => dispatch(headers, attempt), fail);
    else dispatch(given, attempt);
  };

  send(0);
  return {
    abort(): void {
      aborted = true;
      current?.abort();
    },
  };
}
