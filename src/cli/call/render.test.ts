import { expect, test } from "vitest";
import type { CallToolResult } from "../../model/index.ts";
import { createColors } from "../terminal/colors.ts";
import { type RenderContext, renderPrompt, renderResource, renderToolResult } from "./render.ts";

function context(saveText = false): RenderContext & { files: string[] } {
  const files: string[] = [];
  return {
    colors: createColors(false),
    saveText,
    files,
    save: async (bytes, mimeType, stem) => {
      files.push(`${stem}|${mimeType}|${Buffer.from(bytes).toString()}`);
      return `/tmp/${files.length}`;
    },
  };
}

test("renders text, media, links, embedded resources and unknown content types", async () => {
  const at = context();
  const result: CallToolResult = {
    content: [
      { type: "text", text: "hello \u001b[31mred\u001b[0m\n" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
      { type: "resource_link", uri: "file:///a", name: "a", description: "an\na" },
      { type: "resource", resource: { uri: "file:///b", mimeType: "text/plain", text: "b text" } },
      { type: "resource", resource: { uri: "file:///c", blob: "aGk=" } },
      { type: "hologram", z: "\u202e" } as never,
    ],
  };
  expect(await renderToolResult(result, at)).toBe(
    [
      "hello red",
      "[image image/png, 2 B] /tmp/1",
      "a file:///a an a",
      "file:///b (text/plain)\nb text",
      "file:///c\n[resource, 2 B] /tmp/2",
      '{\n  "type": "hologram",\n  "z": "\\u202e"\n}',
    ].join("\n"),
  );
  expect(at.files).toEqual(["image|image/png|hi", "resource|undefined|hi"]);
});

test("structured content is shown once", async () => {
  const structuredContent = { a: 1, b: [2] };
  expect(
    await renderToolResult(
      { content: [{ type: "text", text: '{"b":[2],"a":1}' }], structuredContent },
      context(),
    ),
  ).toBe('{"b":[2],"a":1}');
  expect(
    await renderToolResult({ content: [{ type: "text", text: "done" }], structuredContent }, context()),
  ).toContain('"b": [');
  expect(await renderToolResult({ structuredContent: 5 }, context())).toBe("5");
});

test("structured content with one field is not repeated if a text has the value of the field", async () => {
  const entities = [{ name: "box", observations: ["kept"] }];
  const text = JSON.stringify(entities, null, 2);
  const shown = (structuredContent: object): Promise<string> =>
    renderToolResult({ content: [{ type: "text", text }], structuredContent }, context());
  expect(await shown({ entities })).toBe(text);
  expect(await shown({ entities, more: 1 })).toContain('"more": 1');
  expect(await shown({ entities: [] })).toContain('"entities": []');
});

test("renders empty and malformed results", async () => {
  expect(await renderToolResult({}, context())).toBe("(empty result)");
  expect(await renderToolResult({ content: "x" as never }, context())).toBe("(empty result)");
  expect(await renderToolResult({ content: [null, { type: "text" }] as never }, context())).toContain("null");
});

test("renders a resource, or saves it as a file", async () => {
  const result = { contents: [{ uri: "a:b", text: "one" }] };
  expect(await renderResource(result, context())).toBe("one");
  const at = context(true);
  expect(await renderResource(result, at)).toBe("[text text/plain, 3 B] /tmp/1");
  expect(at.files).toEqual(["resource|text/plain|one"]);
});

test("renders a prompt with its messages", async () => {
  const rendered = await renderPrompt(
    {
      description: "greets",
      messages: [
        { role: "user", content: { type: "text", text: "hi" } },
        { role: "assistant", content: { type: "text", text: "yo" } },
      ],
    },
    context(),
  );
  expect(rendered).toBe("greets\n\nuser\nhi\n\nassistant\nyo");
});

test("renders a result with another resultType as JSON", async () => {
  const result = { resultType: "task", taskId: "t-1" };
  expect(JSON.parse(await renderToolResult(result, context()))).toEqual(result);
  expect(await renderToolResult({ resultType: "complete", content: [] }, context())).toBe("(empty result)");
});
