// Host of the frame in which the console shows apps: another name of this computer than the console's own.

/**
 * The host name for the frame of a console at this host name; undefined if there is none. The browser sends the console's cookie
 * to every port of its host, so that another port is not enough.
 */
export function frameHostOf(hostname: string): string | undefined {
  switch (hostname) {
    case "127.0.0.1":
    case "[::1]":
      return "localhost";
    case "localhost":
      return "127.0.0.1";
    default:
      return undefined;
  }
}
