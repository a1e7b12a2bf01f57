/** Why a gateway did not take a message, in one line. */
export function explainStatus(status, body = "") {
  if (status === 413) return "it refuses requests of this size (HTTP 413)";
  const message = /"message":\s*"([^"]*)"/.exec(body)?.[1] ?? body.replace(/<[^>]+>|\s+/g, " ");
  return `HTTP ${status} ${message.trim().slice(0, 80)}`.trim();
}
