// Values inside of URLs.

import { Refusal } from "../refusal.ts";
import { type Gap, refuseNul } from "../values.ts";

export type Part = { readonly kind: "text"; readonly text: string } | Gap;

export function encodeValue(text: string, what: string): string {
  refuseNul(text, what);
  try {
    return encodeURIComponent(text);
  } catch {
    throw new Refusal(`The ${what} is not valid Unicode.`);
  }
}
