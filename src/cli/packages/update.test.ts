import { expect, test } from "vitest";
import { PortolanError } from "../../errors/index.ts";
import { aboutOne } from "./update.ts";

test("the error of a failed update says that nothing was changed for its own server only", () => {
  const error = new PortolanError("CANCELLED", "You declined. Nothing was changed.", { hint: "" });
  expect(aboutOne(error, "Nothing about $& files")).toMatchObject({
    code: "CANCELLED",
    message: "You declined. Nothing about $& files was changed.",
  });
  const other = new Error("Nothing was changed");
  expect(aboutOne(other, "Nothing about files")).toBe(other);
});
