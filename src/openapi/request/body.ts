// The request body of an operation, in one form for all versions of OpenAPI.

import { isObject } from "../../model/index.ts";
import { quoted } from "../../formats/document/index.ts";
import { child, follow, type Spec, textOf } from "../document/document.ts";
import { findJson, isForm, isJson, listed, mediaOf } from "./media-types.ts";
import type { Operation } from "../document/operations.ts";
import type { Parameters } from "./parameters.ts";
import { type At, Unusable } from "../types.ts";

export interface Body {
  readonly kind: "json" | "form";
  readonly mediaType: string;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly path: At["path"];
  /** Undefined if any value is allowed. */
  readonly schema?: At;
  /** Swagger 2: the fields of a form, as parameters. */
  readonly fields?: readonly At[];
}

export function readBody(spec: Spec, operation: Operation, parameters: Parameters): Body | undefined {
  return spec.dialect === "2.0" ? readOlder(spec, operation, parameters) : readContent(spec, operation);
}

function readContent(spec: Spec, { at }: Operation): Body | undefined {
  const written = child(at, "requestBody");
  if (written.value === undefined) return undefined;
  const found = follow(spec, written);
  const media = mediaOf(child(found, "content"));
  if (media.length === 0) return undefined;
  const json = findJson(media);
  const chosen = json ?? media.find(({ type }) => isForm(type));
  if (chosen === undefined)
    throw otherKind(
      media.map(({ type }) => type),
      found,
    );
  const schema = child(chosen.at, "schema");
  return {
    kind: json === undefined ? "form" : "json",
    mediaType: isJson(chosen.type) || isForm(chosen.type) ? chosen.type : "application/json",
    required: child(found, "required").value === true,
    description: textOf(found, "description"),
    path: found.path,
    schema: schema.value === undefined ? undefined : schema,
  };
}

function readOlder(spec: Spec, { at }: Operation, { body, form }: Parameters): Body | undefined {
  const consumes = listed(spec, at, "consumes");
  if (body !== undefined) {
    const json =
      consumes.find(isJson) ??
      (consumes.length === 0 || consumes.includes("*/*") ? "application/json" : undefined);
    if (json === undefined) throw otherKind(consumes, body);
    const schema = child(body, "schema");
    return {
      kind: "json",
      mediaType: json,
      required: child(body, "required").value === true,
      description: textOf(body, "description"),
      path: body.path,
      schema: isObject(schema.value) ? schema : undefined,
    };
  }
  const [first] = form;
  if (first === undefined) return undefined;
  const file = form.find((field) => child(field, "type").value === "file");
  if (file !== undefined) throw new Unusable("it takes a file, which a tool cannot send", file.path);
  if (consumes.length > 0 && !consumes.some(isForm)) throw otherKind(consumes, first);
  return {
    kind: "form",
    mediaType: "application/x-www-form-urlencoded",
    required: form.some((field) => child(field, "required").value === true),
    description: undefined,
    path: first.path,
    fields: form,
  };
}

function otherKind(types: readonly string[], at: At): Unusable {
  const shown = types.slice(0, 3).map(quoted).join(" or ");
  return new Unusable(`its body is ${shown}; a tool can send JSON and forms`, at.path);
}
