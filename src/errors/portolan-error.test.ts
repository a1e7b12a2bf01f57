import { expect, test } from "vitest";
import { PortolanError, toPortolanError } from "./portolan-error.ts";

const thrown = (code: string): Error => Object.assign(new Error(`${code}: open '/x'`), { code });

test.each(["EMFILE", "ENFILE", "ENOSPC", "EROFS", "ENOMEM", "EDQUOT"])(
  "the system error %s becomes FILE_FAILED, not an internal error",
  (code) => {
    const error = toPortolanError(thrown(code), { server: "s" });
    expect(error).toMatchObject({ code: "FILE_FAILED", server: "s" });
    expect(error.message).toContain(`${code}: open '/x'`);
    expect(error.hint).not.toContain("bug");
  },
);

test("an exception with an unclear cause becomes INTERNAL", () => {
  expect(toPortolanError(thrown("ENOENT")).code).toBe("INTERNAL");
  expect(toPortolanError(new TypeError("x")).code).toBe("INTERNAL");
  expect(toPortolanError(undefined).code).toBe("INTERNAL");
});

test("the text of an error contains the hint and the last output of the server", () => {
  const error = new PortolanError("SERVER_CRASHED", "demo exited", {
    hint: "Look at it.",
    stderr: "Error: x\n",
  });
  expect(String(error)).toBe(
    "PortolanError: demo exited\nHint: Look at it.\nThe last output of the server:\nError: x",
  );
  expect(String(new PortolanError("INTERNAL", "a", { hint: "" }))).toBe("PortolanError: a");
});
