// Whether a URI can have come from a URI template: enough to know which server to ask.

const EXPRESSION = /\{([+#./;?&]?)([^{}]*)\}/g;

/** Loose on purpose: the server is the judge of the URI; this only finds the server. */
export function templateMatcher(template: string): (uri: string) => boolean {
  const literals = template.split(EXPRESSION).filter((_part, index) => index % 3 === 0);
  const [head = "", ...rest] = literals;
  return (uri) => {
    if (!uri.startsWith(head)) return false;
    let at = head.length;
    for (const [index, literal] of rest.entries()) {
      const last = index === rest.length - 1;
      const found = last && literal !== "" ? uri.lastIndexOf(literal) : uri.indexOf(literal, at);
      if (found < at || (last && literal !== "" && found + literal.length !== uri.length)) return false;
      at = found + literal.length;
    }
    return rest.length > 0 || uri === template;
  };
}
