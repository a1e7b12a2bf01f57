import { expect, test } from "vitest";
import { wideGrant } from "./wide-grants.ts";

const about = (access: "read" | "write", path: string, isDry = false) =>
  wideGrant({ alias: "files", access, path, home: "/home/me", isDry });

test("grants of the whole home folder, and of keys and tokens, get a warning", () => {
  expect(about("read", "/home/me")).toEqual({
    message: "files can now read every file of /home/me, also keys and tokens such as those in ~/.ssh",
    hint: "If a folder in it is enough, grant only that folder, and revoke this grant: portolan revoke files --read /home/me",
  });
  expect(about("write", "/home", true)).toEqual({
    message: "files could then change every file of /home, also keys and tokens such as those in ~/.ssh",
    hint: "If a folder in it is enough, grant only that folder",
  });
  for (const path of [
    "/",
    "/home/me/.ssh",
    "/home/me/.aws/credentials",
    "/home/me/.config",
    "/home/me/.npmrc",
  ])
    expect(about("read", path)?.message).toContain("can now read");
  for (const path of ["/home/me/notes", "/home/me/.config/editor", "/home/me/.sshx", "/home/you", "/srv"])
    expect(about("read", path)).toBeUndefined();
});
