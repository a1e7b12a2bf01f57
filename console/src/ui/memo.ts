// Components that are rendered again only when a prop has changed, for rows of long live lists.

import { Component, type ComponentChild, type ComponentType, h, type JSX } from "preact";

export function memo<P extends object>(render: (props: P) => JSX.Element): ComponentType<P> {
  return class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const keys = new Set([...Object.keys(next), ...Object.keys(this.props)]) as Set<keyof P>;
      return [...keys].some((name) => next[name] !== (this.props as P)[name]);
    }

    override render(): ComponentChild {
      return h(render as ComponentType<P>, this.props as P);
    }
  };
}
