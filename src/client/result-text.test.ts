import { expect, it } from "vitest";
import { resultText } from "./result-text.ts";

it("resultText joins text blocks, and describes other content in brackets", () => {
  const text = resultText({
    content: [
      { type: "text", text: "one" },
      { type: "image", mimeType: "image/png", data: Buffer.from("12345").toString("base64") },
      { type: "audio", mimeType: "audio/wav", data: "" },
      { type: "resource_link", name: "log", uri: "file:///log" },
      { type: "resource", resource: { uri: "test://a", text: "inside" } },
      { type: "resource", resource: { uri: "test://b", mimeType: "application/zip", blob: "AAAA" } },
      { type: "future_thing", value: 1 } as never,
      { type: "text", text: "two" },
    ],
  });
  expect(text.split("\n")).toEqual([
    "one",
    "[image: image/png, 5 bytes]",
    "[audio: audio/wav, 0 bytes]",
    "[resource: log <file:///log>]",
    "inside",
    "[resource: <test://b> application/zip, 3 bytes]",
    "[future_thing content]",
    "two",
  ]);
});

it("resultText returns the structured content if there is no other content", () => {
  expect(resultText({ content: [], structuredContent: { a: 1 } })).toBe('{"a":1}');
  expect(resultText({})).toBe("");
});

it("resultText handles malformed content, and content that is nested too deeply", () => {
  expect(resultText({ content: [null, { type: "text" }, { type: "resource" }] as never })).toBe(
    "[malformed content]\n[malformed text]\n[malformed resource]",
  );
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i += 1) deep = [deep];
  expect(resultText({ structuredContent: deep })).toBe("[structured content is nested too deeply to show]");
});
