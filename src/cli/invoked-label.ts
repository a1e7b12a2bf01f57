// What a server that is carried out here does, for people to recognise it: how many commands, how many requests and where to.

import type { Invocation, InvokedServer, Template } from "../model/index.ts";

const MOST_HOSTS = 3;

/** `my-tools 1.0.0: 2 commands, 1 HTTP request to https://api.example.com` */
export function invokedLabel(server: InvokedServer): string {
  const { info, tools, prompts, resources, resourceTemplates } = server;
  const all = [...tools, ...prompts, ...resources, ...resourceTemplates].map(({ invocation }) => invocation);
  const hosts = [...new Set(all.flatMap(hostOf))];
  const requests = all.filter(({ kind }) => kind === "http").length;
  const more = hosts.length > MOST_HOSTS ? ` and ${hosts.length - MOST_HOSTS} more` : "";
  const parts = [
    ...count(all.length - requests, "command"),
    ...count(requests, "HTTP request").map(
      (text) => `${text} to ${hosts.slice(0, MOST_HOSTS).join(", ")}${more}`,
    ),
  ];
  return `${info.name} ${info.version}: ${parts.length === 0 ? "nothing" : parts.join(", ")}`;
}

/** Scheme and host, which never hold a value of a call. Whatever stands before an @ is left out. */
function hostOf(invocation: Invocation): string[] {
  if (invocation.kind !== "http") return [];
  const text = textOf(invocation.url);
  const [, scheme = "", host = ""] = /^([a-z]+:\/\/)?(?:[^/?#]*@)?([^/?#]*)/i.exec(text) ?? [];
  return [`${scheme}${host}`];
}

function textOf(url: Template): string {
  return url
    .map((part) => (part.kind === "text" ? part.text : part.kind === "env" ? `\${${part.name}}` : "/"))
    .join("");
}

function count(number: number, word: string): string[] {
  return number === 0 ? [] : [`${number} ${word}${number === 1 ? "" : "s"}`];
}
