// Paths that hints suggest no grant for: folders of the system, and the homes of other users.

import { homedir } from "node:os";

/** With everything in them. */
const SYSTEM =
  /^\/(?:etc|usr|s?bin|lib(?:x?32|64)?|boot|dev|proc|sys|run|root|System|Library|private\/etc|var\/(?:run|log|spool|cache|backups))(?:\/|$)/;
/** Only the folder itself: programs keep data of their own in it. */
const TOO_WIDE = /^\/(?:|home|Users|var|var\/lib|private|private\/var|opt|srv|mnt|media)$/;
const HOMES = /^\/(?:home|Users)\/(?!Shared(?:\/|$))[^/]/;

export function isSystemPath(path: string, home: string = homedir()): boolean {
  const plain = path.length > 1 ? path.replace(/\/+$/, "") : path;
  if (home !== "/" && (plain === home || plain.startsWith(`${home}/`))) return false;
  return plain === "" || [SYSTEM, TOO_WIDE, HOMES].some((pattern) => pattern.test(plain));
}
