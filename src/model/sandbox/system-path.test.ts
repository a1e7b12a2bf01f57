import { expect, test } from "vitest";
import { isSystemPath } from "./system-path.ts";
import { ownFoldersHint, pathGrant, pathGrantCommand, pathGrantHint } from "./messages.ts";

const SYSTEM =
  "/ // /etc /etc/shadow /usr/share/x /root /root/.ssh /home /home/ /home/bob /home/bob/a /home/ann2";

test.each(SYSTEM.split(" "))("%s is a system path, which no hint grants", (path) => {
  expect(isSystemPath(path, "/home/ann")).toBe(true);
});

test.each(["/home/ann", "/home/ann/notes", "/srv/data", "/etcetera", "/var/lib/app", "/tmp/x"])(
  "%s is not a system path",
  (path) => expect(isSystemPath(path, "/home/ann")).toBe(false),
);

test("the home folder of root is a system path for other users only", () => {
  expect(isSystemPath("/root/notes", "/root")).toBe(false);
  expect(isSystemPath("/root/notes", "/home/ann")).toBe(true);
});

test("hints about a system path contain no command", () => {
  const denied = { path: "/etc/shadow", where: "the arguments of a call", isForReading: true };
  for (const command of ["portolan grant s", "", undefined]) {
    expect(pathGrant(denied, command)).toBeUndefined();
    expect(pathGrantCommand(denied, command)).toBeUndefined();
    const own = ownFoldersHint({ path: "/etc/shadow", folder: undefined }, command);
    for (const hint of [pathGrantHint(denied, command), own]) {
      expect(hint).toContain("Portolan suggests no grant for /etc/shadow");
      expect(hint).not.toMatch(/portolan grant|--allow|fs:/);
    }
  }
});

test("the hint for a file does not grant its parent folder if this is a system folder", () => {
  const denied = { path: "/srv/new.db", isNew: true, grant: "/srv" };
  expect(pathGrant(denied, "portolan grant s")).toBe(
    "touch /srv/new.db && portolan grant s --write /srv/new.db (or --read, if the server only reads it)",
  );
});
