// Media types of responses: text or binary, JSON or not, and decoding by charset.

const TEXTUAL =
  /^text\/|[/+](?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|x-ndjson|graphql|sql|x-www-form-urlencoded|x-sh)$/;

/** Media type without parameters, in lower case. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function isJson(contentType: string | undefined): boolean {
  return /[/+]json$/.test(mediaType(contentType));
}

/** Without a declared type, bytes that are valid UTF-8 without NUL are text. */
export function isTextual(contentType: string | undefined, bytes: Buffer): boolean {
  const type = mediaType(contentType);
  if (type !== "") return TEXTUAL.test(type);
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Keeps a byte order mark. */
export function decodeText(bytes: Buffer, contentType?: string): string {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset, { ignoreBOM: true }).decode(bytes);
  } catch {
    // The charset is unknown.
    return bytes.toString("utf8");
  }
}
