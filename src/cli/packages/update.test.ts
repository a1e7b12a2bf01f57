import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { aboutOne } from "./update.ts";

test("an update that fails says only about its own server that nothing was changed", () => {
  const error = new PortolanError("CANCELLED", "You declined. Nothing was changed.", { hint: "" });
  expect(aboutOne(error, "Nothing about $& files")).toMatchObject({
    code: "CANCELLED",
    message: "You declined. Nothing about $& files was changed.",
  });
  const other = new Error("Nothing was changed");
  expect(aboutOne(other, "Nothing about files")).toBe(other);
});
