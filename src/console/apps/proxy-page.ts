// Page between the console and an app: passes messages on, and checks where each comes from.

/** The origin of the console was checked: it has no character that ends an attribute. */
export function proxyPage(consoleOrigin: string): string {
  return `<!doctype html>
<html lang="en" data-console="${consoleOrigin}">
<head><meta charset="utf-8"><title>App</title>
<style>html,body,iframe{margin:0;border:0;display:block;width:100%;height:100%}</style></head>
<body><script src="/proxy.js"></script></body>
</html>
`;
}

/** The app has no origin of its own, so that its messages have the origin "null". It cannot send messages of this page. */
export const PROXY_SCRIPT = `"use strict";
const host = document.documentElement.dataset.console;
const OWN = "ui/notifications/sandbox-";
let app;
addEventListener("message", ({ source, origin, data }) => {
  if (source === parent && origin === host) {
    if (data?.method !== OWN + "resource-ready") app?.contentWindow.postMessage(data, "*");
    else if (app === undefined) {
      app = document.createElement("iframe");
      app.title = document.title;
      app.setAttribute("sandbox", "allow-scripts allow-forms");
      app.srcdoc = data.params.html;
      document.body.append(app);
    }
  } else if (app !== undefined && source === app.contentWindow && origin === "null") {
    if (!String(data?.method).startsWith(OWN)) parent.postMessage(data, host);
  }
});
parent.postMessage({ jsonrpc: "2.0", method: OWN + "proxy-ready", params: {} }, host);
`;
