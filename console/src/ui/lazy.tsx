// Lazy components: their code is loaded when they are shown for the first time.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, ComponentType, JSX } from "preact";
import { createContext } from "preact";
import { useContext, useEffect } from "preact/hooks";

const Fallback = createContext<ComponentChildren>(null);

export function Suspense({
  fallback,
  children,
}: {
  readonly fallback: ComponentChildren;
  readonly children: ComponentChildren;
}): JSX.Element {
  return <Fallback.Provider value={fallback}>{children}</Fallback.Provider>;
}

export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): (props: P) => JSX.Element {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P): JSX.Element {
    const fallback = useContext(Fallback);
    const version = useSignal(0);
    const failed = useSignal(false);
    useEffect(() => {
      if (loaded !== undefined) return;
      load().then(
        (component) => {
          loaded = component;
          version.value += 1;
        },
        () => (failed.value = true),
      );
    }, []);
    if (failed.value)
      return (
        <p class="message bad" role="alert">
          This part of the page could not be loaded, perhaps because the gateway was updated. Reload the page.
        </p>
      );
    // The signal is read so that the component is shown when it is there.
    const Component = version.value >= 0 ? loaded : undefined;
    return Component === undefined ? <>{fallback}</> : <Component {...props} />;
  };
}
