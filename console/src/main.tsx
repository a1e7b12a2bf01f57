// Entry of the console: signs in with the one-time code of the address, if there is one, then shows the page.

import { render } from "preact";
import { readSession, signIn } from "./api.ts";
import { App } from "./app.tsx";
import "./state/theme.ts";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/parts.css";
import "./styles/pages.css";

// A new link in a tab that shows the console already changes the fragment only.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#code=")) location.reload();
});

const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
let codeFailed = false;
if (code !== undefined) {
  // The code works once; it must not stay in the address or the history.
  history.replaceState(null, "", "/");
  codeFailed = !(await signIn({ code }).catch(() => false));
}
// An older session of this browser may still be good.
if (code === undefined || codeFailed) await readSession();
const app = document.getElementById("app");
if (app !== null) render(<App codeFailed={codeFailed} />, app);
