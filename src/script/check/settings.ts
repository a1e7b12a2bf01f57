// Settings of `@mcp:config`: the environment variable of each, and the variables that a script must not set.

import { variableOf } from "../../formats/package/index.ts";

export interface SettingVariable {
  readonly name: string;
  readonly problem?: string;
  readonly hint?: string;
}

/**
 * Variables that make programs load code, or change which files and hosts they trust. A script that sets one could run its own code
 * with the secrets of a server.
 */
const REFUSED = new RegExp(
  `^(?:${[
    "PATH|HOME|SHELL|ENV|IFS|TMPDIR|TEMP|TMP|CLASSPATH|GCONV_PATH|LOCPATH",
    "BASH_.*|LD_.*|DYLD_.*|NODE_.*|NPM_CONFIG_.*|DENO_.*|BUN_.*|PYTHON.*|PIP_.*|UV_.*|RUBY.*|GEM_.*|PERL.*",
    "_?JAVA_(?:TOOL_)?OPT.*|JAVA_HOME|JDK_.*|DOTNET_.*|MALLOC_.*|XDG_.*|PORTOLAN_.*",
    "GIT_(?:SSH|CONFIG|EXEC|ASKPASS|EXTERNAL|PROXY|TEMPLATE|EDITOR|PAGER|DIR|SSL).*",
    "DOCKER_(?:HOST|CONFIG|CERT_PATH)|SSL_CERT_.*|OPENSSL_.*|CURL_(?:HOME|CA_BUNDLE)|REQUESTS_CA_BUNDLE",
    "(?:HTTPS?|ALL|NO)_PROXY",
  ].join("|")})$`,
);

/** The variable of a setting, or the reason why it has none. `variables` are those that the metadata of a package names. */
export function settingVariable(
  setting: string,
  variables: Readonly<Record<string, string>> = {},
): SettingVariable {
  const name = variableOf(setting, Object.hasOwn(variables, setting) ? variables : {});
  if (!/^[A-Z_][A-Z0-9_]*$/i.test(name))
    return {
      name,
      problem: `The setting ${JSON.stringify(setting)} is not a valid name of an environment variable.`,
      hint: "A name begins with a letter or _, and continues with letters, digits and _.",
    };
  if (!REFUSED.test(name.toUpperCase())) return { name };
  return {
    name,
    problem: `A script must not set ${name}: this variable can change which code a program runs, or which files and hosts it uses.`,
    hint: "If the server needs it, set it under env in the config of the server in portolan.yaml.",
  };
}
