/** The tools that need nothing but their arguments: content, logging, progress, list changes. */
import { setTimeout as delay } from "node:timers/promises";
import { audio, embedded, image, says } from "./content.mjs";

const NO_ARGUMENTS = { type: "object", properties: {} };

export const plainTools = [
  {
    name: "test_simple_text",
    description: "Answers with text",
    run: () => says("This is a simple text response for testing."),
  },
  { name: "test_image_content", description: "Answers with an image", run: () => says(image()) },
  { name: "test_audio_content", description: "Answers with a sound", run: () => says(audio()) },
  {
    name: "test_embedded_resource",
    description: "Answers with a resource",
    run: () =>
      says(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
  },
  {
    name: "test_multiple_content_types",
    description: "Answers with text, an image and a resource",
    run: () =>
      says(
        "Multiple content types test:",
        image(),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ),
  },
  {
    name: "test_error_handling",
    description: "Always fails",
    run() {
      throw new Error("This tool intentionally returns an error for testing");
    },
  },
  {
    name: "test_tool_with_logging",
    description: "Logs three lines while it runs",
    async run(_args, { log }) {
      log("info", "Tool execution started");
      await delay(50);
      log("info", "Tool processing data");
      await delay(50);
      log("info", "Tool execution completed");
      return says("Logged three lines.");
    },
  },
  {
    name: "test_logging_tool",
    description: "Logs a line at every level",
    run(_args, { log }) {
      for (const level of ["debug", "info", "warning", "error"]) log(level, `A line at level ${level}`);
      return says("Logged to whom it may concern.");
    },
  },
  {
    name: "test_tool_with_progress",
    description: "Reports its progress while it runs",
    async run(_args, { progress }) {
      progress(0, 100);
      await delay(50);
      progress(50, 100);
      await delay(50);
      progress(100, 100);
      return says("Reported progress three times.");
    },
  },
  {
    name: "test_reconnection",
    description: "Closes its stream before it answers, where a client can come back for the answer",
    async run(_args, { interrupt }) {
      interrupt();
      await delay(100);
      return says("The answer came after the stream was closed.");
    },
  },
  {
    name: "test_trigger_tool_change",
    description: "Changes the list of tools",
    run(_args, { surface }) {
      surface.change("tools");
      return says("The list of tools changed.");
    },
  },
  {
    name: "test_trigger_prompt_change",
    description: "Changes the list of prompts",
    run(_args, { surface }) {
      surface.change("prompts");
      return says("The list of prompts changed.");
    },
  },
  {
    name: "test_x_mcp_header",
    description: "Has an argument that a modern client repeats in a header",
    inputSchema: {
      type: "object",
      properties: {
        region: { type: "string", description: "Where to look", "x-mcp-header": "Region" },
        query: { type: "string", description: "What to look for" },
      },
      required: ["region"],
    },
    run: (args) => says(JSON.stringify(args)),
  },
  {
    name: "json_schema_2020_12_tool",
    description: "Has an input schema that uses the vocabulary of JSON Schema 2020-12",
    // Whoever shows this tool to others has to keep every keyword.
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    },
    run: (args) => says(JSON.stringify(args)),
  },
].map((tool) => ({ inputSchema: NO_ARGUMENTS, ...tool }));
