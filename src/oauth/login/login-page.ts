// Interface of a login page: how a person reaches it, and how its answer comes back.

export interface LoginPage {
  /** The address that the browser is redirected to after the login. */
  readonly redirectUri: string;
  /** Shows the page. Resolves to the address that the browser was redirected to; its parameter `state` must be the given one. */
  show(address: URL, state: string): Promise<URL>;
  close(): Promise<void>;
}

/** `redirectUri` is one that the client is registered for already. It may be taken by another program. */
export type OpenLoginPage = (wanted: {
  readonly server: string;
  readonly redirectUri: string | undefined;
}) => Promise<LoginPage>;
