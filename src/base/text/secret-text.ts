// Values in a line of a config file that look like secrets: recognised by the name before them or by their form, and masked.

const NAME =
  /(?:^|[^a-z])(?:token|key|secret|passw(?:or)?d|passphrase|pwd|credentials?|authorization|auth|pat|cookie|apikey)(?:$|[^a-z])|token$|apikey$|secret$|password$/;
/** A name with the text before its value: `:`, `=`, a comma as in `"--token", "abc"`, or a space. */
const BEFORE = /([A-Za-z][\w.-]*)["']?(?:\s*[:=]\s*|["']\s*,\s*|\s+)/g;
/** A quoted or plain value. */
const VALUE = /"((?:[^"\\]|\\.)*)"?|'([^']*)'?|((?:(?:bearer|basic|token)\s+)?[^\s"',&#{}[\]]+)/iy;
/** Forms of widespread tokens, and the password of a URL. */
const FORMS =
  /\b(?:sk|rk|pk)[-_][\w-]{8,}|\bgh[pousr]_\w{8,}|\bgithub_pat_\w{8,}|\bglpat-[\w-]{8,}|\bxox[a-z]-[\w-]{8,}|\bAKIA\w{12,}|\beyJ[\w-]{8,}\.[\w.-]+|(?<=:\/\/[^\s/?#@:"']*:)[^\s/?#@"']+(?=@)/g;
const MASK = "********";
const MIN_LENGTH = 4;

export function isSecretName(name: string): boolean {
  return NAME.test(name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase());
}

/** The line with `********` in place of each value that looks like a secret. References such as `${NAME}` stay. */
export function maskSecrets(line: string): string {
  const before = new RegExp(BEFORE);
  const value = new RegExp(VALUE);
  let masked = "";
  let end = 0;
  for (let found = before.exec(line); found !== null; found = before.exec(line)) {
    const [{ length }, name = ""] = found;
    value.lastIndex = found.index + length;
    const [whole = "", double, single, plain] = (isSecretName(name) && value.exec(line)) || [];
    const secret = double ?? single ?? plain;
    if (secret === undefined || !canBeSecret(secret)) {
      before.lastIndex = found.index + name.length;
      continue;
    }
    masked += line.slice(end, found.index + length) + whole.replace(secret, () => MASK);
    end = found.index + length + whole.length;
    before.lastIndex = end;
  }
  return (masked + line.slice(end)).replace(FORMS, () => MASK);
}

/** The line with a mask in place of the value at this column (from 1), which is known to be a secret. */
export function maskValueAt(line: string, column: number): string {
  const masked = maskSecrets(line);
  if (masked !== line) return masked;
  const start = line.slice(0, column - 1);
  const rest = line.slice(column - 1);
  return (
    start +
    rest.replace(/^"(?:[^"\\]|\\.)*"?|^'[^']*'?|^[^,\]}]+/, (value) => {
      const quote = /^["']/.exec(value)?.[0] ?? "";
      return `${quote}${MASK}${quote}`;
    })
  );
}

function canBeSecret(value: string): boolean {
  return value.length >= MIN_LENGTH && !/\$\{|\{\{|^\$\w+$|^(?:true|false|null|none|[\d.]+)$/i.test(value);
}
