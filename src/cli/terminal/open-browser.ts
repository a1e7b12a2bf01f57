// Opens a web page in the user's browser: with an argument list, never a shell, and only http and https.

import { isHttpUrl, parseUrl } from "../../base/net/urls.ts";
import { startDetached } from "../../process/index.ts";

/** Returns false when no browser can be started; the caller then shows the URL. */
export async function openBrowser(
  url: string,
  platform: NodeJS.Platform = process.platform,
): Promise<boolean> {
  const command = browserCommand(url, platform);
  if (command === undefined) return false;
  const [file, ...args] = command;
  return startDetached({ file, args });
}

export function browserCommand(url: string, platform: NodeJS.Platform): [string, ...string[]] | undefined {
  const parsed = parseUrl(url);
  if (parsed === undefined || !isHttpUrl(parsed)) return undefined;
  const { href } = parsed;
  if (platform === "darwin") return ["open", href];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler", href];
  return ["xdg-open", href];
}
