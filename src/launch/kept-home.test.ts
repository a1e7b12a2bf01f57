import { expect, test } from "vitest";
import { makeHome } from "./kept-home.ts";

test.skipIf(process.platform !== "linux")(
  "a kept HOME that cannot be created is refused with a hint",
  async () => {
    await expect(makeHome("/proc/portolan/homes", "s")).rejects.toMatchObject({
      code: "FILE_FAILED",
      server: "s",
      message: expect.stringContaining("/proc/portolan/homes") as string,
      hint: expect.stringContaining("home: kept") as string,
    });
  },
);
