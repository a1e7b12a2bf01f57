/** The resources and the one template. */
import { CODE, RpcError } from "../../fixtures/lib/rpc.mjs";
import { PNG } from "./content.mjs";

const fixed = [
  {
    uri: "test://static-text",
    name: "static-text",
    description: "A text that never changes",
    mimeType: "text/plain",
    content: { text: "This is the content of the static text resource." },
  },
  {
    uri: "test://static-binary",
    name: "static-binary",
    description: "An image that never changes",
    mimeType: "image/png",
    content: { blob: PNG },
  },
  {
    uri: "test://watched-resource",
    name: "watched-resource",
    description: "A text to subscribe to",
    mimeType: "text/plain",
    content: { text: "This is the content of the watched resource." },
  },
];

export const resources = fixed.map(({ content: _content, ...listed }) => listed);

export const resourceTemplates = [
  {
    uriTemplate: "test://template/{id}/data",
    name: "template-data",
    description: "Data for an id",
    mimeType: "application/json",
  },
];

export function readResource({ era, params: { uri } }) {
  const found = fixed.find((resource) => resource.uri === uri);
  if (found) return { contents: [{ uri, mimeType: found.mimeType, ...found.content }] };
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id === undefined) {
    const code = era === "modern" ? CODE.invalidParams : CODE.resourceNotFound;
    throw new RpcError(code, `Resource not found: ${uri}`, { data: { uri } });
  }
  const data = { id, templateTest: true, data: `Data for ID: ${id}` };
  return { contents: [{ uri, mimeType: "application/json", text: JSON.stringify(data) }] };
}
