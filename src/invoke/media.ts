// What bytes are, by what is said about them and by how they look.

const TEXTUAL =
  /^text\/|[/+](?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|x-ndjson|graphql|sql|x-www-form-urlencoded|x-sh)$/;

/** Media type without parameters, in small letters. */
export function mediaType(contentType: string | undefined): string {
  return (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

export function isJson(contentType: string | undefined): boolean {
  return /[/+]json$/.test(mediaType(contentType));
}

/** Where nothing is said, bytes that are valid UTF-8 without NUL are text. */
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

/** All of it: a byte order mark is for whoever reads the text. */
export function decodeText(bytes: Buffer, contentType?: string): string {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(contentType ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset, { ignoreBOM: true }).decode(bytes);
  } catch {
    // A charset that nobody knows.
    return bytes.toString("utf8");
  }
}
