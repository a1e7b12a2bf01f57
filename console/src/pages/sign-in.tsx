// Sign-in with the gateway's token, for a visit without a one-time link.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { acceptsToken, signIn } from "../api.ts";
import { Command, ErrorMessage, Message } from "../ui/parts.tsx";

export function SignInPage({ codeFailed }: { readonly codeFailed: boolean }): JSX.Element {
  const token = useSignal("");
  const error = useSignal<unknown>(undefined);
  const isWrong = useSignal(false);
  const submit = async (): Promise<void> => {
    isWrong.value = false;
    error.value = undefined;
    try {
      isWrong.value = !(await signIn({ token: token.value }));
    } catch (thrown) {
      error.value = thrown;
    }
  };
  return (
    <main class="sign-in">
      <div class="card">
        <h1>
          <span class="logo" aria-hidden="true" /> Portolan
        </h1>
        {codeFailed && (
          <Message
            tone="warn"
            title="This link was used before, it is older than five minutes, or the gateway was restarted."
          >
            <p>To get a new link, run this in a terminal:</p>
            <Command text="portolan console" />
          </Message>
        )}
        {acceptsToken.value ? (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void submit();
            }}
          >
            <label class="field">
              Token of the gateway
              <input
                type="password"
                name="token"
                autocomplete="current-password"
                value={token.value}
                aria-invalid={isWrong.value ? "true" : undefined}
                onInput={(event) => (token.value = event.currentTarget.value)}
              />
            </label>
            {isWrong.value && <Message tone="bad" title="This is not the token of the gateway." />}
            {error.value !== undefined && <ErrorMessage error={error.value} />}
            <button type="submit" class="button primary wide" disabled={token.value.trim() === ""}>
              Sign in
            </button>
          </form>
        ) : (
          <p class="muted">
            Your browser runs on another computer than the gateway, so you can sign in only with a link. To
            get one, run this on the computer of the gateway:
          </p>
        )}
        {!codeFailed && (
          <div class="muted small">
            {acceptsToken.value && (
              <p>
                Run one of these commands: the first prints a link that signs you in, the second prints the
                token.
              </p>
            )}
            <Command text="portolan console" />
            {acceptsToken.value && <Command text="portolan token" />}
          </div>
        )}
      </div>
    </main>
  );
}
