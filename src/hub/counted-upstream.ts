// Knows when a driver's server is in use, so that it is not stopped then.

import type { Upstream } from "../upstream/index.ts";

export interface Use {
  /** Calls under way. */
  busy: number;
  /** Subscriptions: nobody waits for them, but they end with it. */
  followed: number;
}

/** `used` hears when the last call has ended, and when a subscription has. */
export function countedUpstream(upstream: Upstream, use: Use, used: () => void): Upstream {
  const ended = (): void => {
    use.busy -= 1;
    if (use.busy === 0) used();
  };
  return {
    name: upstream.name,
    request: (call) => {
      use.busy += 1;
      const answer = upstream.request(call);
      answer.then(ended, ended);
      return answer;
    },
    describe: () => upstream.describe(),
    notify: (method, params) => upstream.notify(method, params),
    subscribe: async (uri) => {
      let followed = true;
      const left = (): void => {
        if (followed) use.followed -= 1;
        followed = false;
        used();
      };
      use.followed += 1;
      try {
        const release = await upstream.subscribe(uri);
        return () => (left(), release());
      } catch (error) {
        left();
        throw error;
      }
    },
    setLogLevel: (level) => upstream.setLogLevel(level),
    on: (event, listener) => upstream.on(event, listener),
    stats: () => upstream.stats(),
    close: () => upstream.close(),
    [Symbol.asyncDispose]: () => upstream.close(),
  };
}
