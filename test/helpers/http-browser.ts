// A browser without scripts: it follows redirects, keeps cookies by origin, and sends forms.

export interface Shown {
  /** The address of the page that is shown. */
  readonly url: URL;
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export class HttpBrowser {
  readonly #cookies = new Map<string, Map<string, string>>();

  /** Sets a cookie as if the site had done it. */
  setCookie(origin: string, name: string, value: string): void {
    this.#jar(origin).set(name, value);
  }

  cookies(origin: string): readonly string[] {
    return [...this.#jar(origin)].map(([name, value]) => `${name}=${value}`);
  }

  open(url: string | URL): Promise<Shown> {
    return this.#go(new URL(url), { method: "GET" });
  }

  /** Sends the form of a page. `origin` is the site of the page that has the form. */
  submit(url: string | URL, fields: Record<string, string>, origin?: string): Promise<Shown> {
    const address = new URL(url);
    return this.#go(address, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { origin: origin ?? address.origin },
    });
  }

  /** Follows redirects until a page is shown, or one of these addresses comes. */
  async #go(first: URL, init: RequestInit): Promise<Shown> {
    let [url, options] = [first, init];
    for (let hops = 0; hops < 20; hops += 1) {
      const headers = new Headers(options.headers);
      headers.set("cookie", this.cookies(url.origin).join("; "));
      const response = await fetch(url, { ...options, headers, redirect: "manual" });
      for (const cookie of response.headers.getSetCookie()) {
        const [pair = ""] = cookie.split(";", 1);
        const at = pair.indexOf("=");
        this.#jar(url.origin).set(pair.slice(0, at), pair.slice(at + 1));
      }
      const location = response.headers.get("location");
      if (location === null)
        return { url, status: response.status, text: await response.text(), headers: response.headers };
      await response.body?.cancel();
      url = new URL(location, url);
      options = { method: "GET" };
    }
    throw new Error(`too many redirects from ${first.href}`);
  }

  #jar(origin: string): Map<string, string> {
    const known = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, known);
    return known;
  }
}
