// What in a definition must not appear in an error: credentials, by where they stand and what they are called.

import type { Endpoint } from "../model/index.ts";
import { createRedactor, type Redactor, Secret } from "../secrets/index.ts";

const TELLING = /token|key|secret|passw|pwd|auth|credential|cookie|session/i;

/** A redactor that knows the credentials of this endpoint; a server, or its error page, may repeat them. */
export function redactorFor(endpoint: Endpoint): Redactor {
  const redactor = createRedactor();
  for (const value of credentials(endpoint)) redactor.add(new Secret(value));
  return redactor;
}

function credentials(endpoint: Endpoint): string[] {
  if (endpoint.transport === "stdio") return telling(endpoint.env);
  const { username, password, searchParams } = new URL(endpoint.url);
  return [
    ...(password === "" ? [] : [password, decodeOr(password)]),
    ...(password === "" && username !== "" ? [username] : []),
    ...telling(Object.fromEntries(searchParams)),
    // "Bearer x" and the like: the server sees, and repeats, the last word.
    ...telling(endpoint.headers).flatMap((value) => [value, value.split(" ").at(-1) ?? value]),
  ];
}

function telling(values: Readonly<Record<string, string>> | undefined): string[] {
  return Object.entries(values ?? {})
    .filter(([name]) => TELLING.test(name))
    .map(([, value]) => value);
}

function decodeOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
