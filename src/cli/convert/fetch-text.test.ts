import { expect, test } from "vitest";
import { fetchText } from "./fetch-text.ts";

test.skipIf(process.platform === "win32")(
  "fetchText refuses a file: URL, and the hint contains its path",
  async () => {
    const { signal } = new AbortController();
    await expect(fetchText("file:///home/me/my%20api.yaml", signal)).rejects.toMatchObject({
      code: "TARGET_INVALID",
      message: "file:///home/me/my%20api.yaml is not fetched: file: URLs are not supported.",
      hint: "Give the path of the file instead of a file: URL: /home/me/my api.yaml",
    });
    await expect(fetchText("file://host/api.yaml", signal)).rejects.toMatchObject({
      hint: "Give the path of the file instead of a file: URL",
    });
  },
);
