// Hint for a program that serves MCP over HTTP by default: it prints its URL, and does not answer on stdio.

const URL_TEXT = /\bhttps?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::\d{1,5})?(?:\/[\w./-]*)?/;

/** `text`: what the program printed. Undefined if it contains no URL of this machine. */
export function httpProgramHint(text: string): string | undefined {
  const [found] = URL_TEXT.exec(text) ?? [];
  if (found === undefined) return undefined;
  const url = found.replace(/0\.0\.0\.0|\[::1?\]/, "localhost").replace(/\.$/, "");
  return `The program seems to offer its MCP server over HTTP (${url}), and not on stdio. Many such programs have an option for stdio, such as --stdio. To use it over HTTP, start the program yourself, and add its URL: portolan add <name> ${url}`;
}
