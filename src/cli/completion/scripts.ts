// Completion scripts for bash, zsh and fish, with all commands and options.

import { didYouMean, PortolanError } from "../../errors/index.ts";

export interface CommandWords {
  readonly name: string;
  readonly description: string;
  /** The names of its subcommands. */
  readonly commands?: readonly string[];
  readonly options: readonly {
    readonly flag: string;
    readonly description: string;
    readonly takesValue: boolean;
  }[];
}

const SHELLS = ["bash", "zsh", "fish"] as const;

export function completionScript(shell: string | undefined, commands: readonly CommandWords[]): string {
  switch (shell) {
    case "bash":
      return bash(commands);
    case "zsh":
      return zsh(commands);
    case "fish":
      return fish(commands);
    default: {
      const message =
        shell === undefined
          ? "No shell was given."
          : `Portolan has no completion script for the shell ${JSON.stringify(shell)}.`;
      throw new PortolanError("USAGE", message, {
        hint: (shell && didYouMean(shell, SHELLS)) || "Supported shells: bash, zsh, fish.",
      });
    }
  }
}

function bash(commands: readonly CommandWords[]): string {
  const cases = commands.map(
    ({ name, options, commands: own = [] }) =>
      `    ${name}) words="${options.map((option) => option.flag).join(" ")}"${own.length === 0 ? "" : `; names="${own.join(" ")}"`} ;;`,
  );
  return `# portolan completion for bash. Add to ~/.bashrc:  source <(portolan completion bash)
_portolan() {
  local line="\${COMP_LINE:0:COMP_POINT}" words="" names="" own="" word
  local current="\${line##*[[:space:]]}"
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map((command) => command.name).join(" ")} --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    completion) names="${SHELLS.join(" ")}" ;;
  esac
  COMPREPLY=()
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
    *) if [ "$COMP_CWORD" -eq 2 ] && [ -n "$names" ]; then COMPREPLY=($(compgen -W "$names" -- "$current")); fi ;;
  esac
  # Servers, tools, arguments and clients. Bash replaces only the part after the last = or :.
  local kept="" IFS=$'\\n'
  case "$current" in *[=:]*) kept="\${current%"\${current##*[=:]}"}" ;; esac
  while IFS= read -r own; do
    word="\${own#"$kept"}"
    case "$own" in
      *=|*.) compopt -o nospace 2>/dev/null; COMPREPLY+=("$word") ;;
      *) COMPREPLY+=("$(printf %q "$word")") ;;
    esac
  done < <("\${COMP_WORDS[0]}" completion words -- --line "$line" 2>/dev/null)
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "\${current#"$kept"}")); fi
}
complete -F _portolan portolan
`;
}

function zsh(commands: readonly CommandWords[]): string {
  const cases = commands
    .filter((command) => command.name !== "completion")
    .map(({ name, options, commands: own = [] }) => {
      const specs = options.map(
        ({ flag, description, takesValue }) =>
          `        '*${flag}[${quoteZsh(description)}]${takesValue ? ":value:_files" : ""}'`,
      );
      return `    ${name})\n      _arguments \\\n${[...specs, ...(own.length === 0 ? [] : [`        '1:command:(${own.join(" ")})'`]), "        '*::argument:_portolan_words'"].join(" \\\n")}\n      ;;`;
    });
  return `#compdef portolan
# portolan completion for zsh. Put this in a folder of $fpath as _portolan, or:  source <(portolan completion zsh)
_portolan_words() {
  local -a found=(\${(f)"$(portolan completion words -- "\${(@Q)_portolan_line}" 2>/dev/null)"})
  local -a open=(\${(M)found:#*[=.]}) whole=(\${found:#*[=.]})
  (( \${#found} )) || { _files; return }
  (( \${#open} )) && compadd -S '' -a open
  (( \${#whole} )) && compadd -a whole
}
_portolan() {
  local -a _portolan_line=("\${(@)words[2,CURRENT]}")
  if (( CURRENT == 2 )); then
    local -a commands=(
${commands.map(({ name, description }) => `      '${name}:${quoteZsh(description)}'`).join("\n")}
    )
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join("\n")}
    completion) _values shell ${SHELLS.join(" ")} ;;
  esac
}
if [ "$funcstack[1]" = "_portolan" ]; then _portolan "$@"; else compdef _portolan portolan; fi
`;
}

function fish(commands: readonly CommandWords[]): string {
  const lines = commands.flatMap(({ name, description, options, commands: own = [] }) => [
    `complete -c portolan -n __fish_use_subcommand -f -a ${name} -d ${quoteFish(description)}`,
    ...(own.length === 0
      ? []
      : [`complete -c portolan -n '__fish_seen_subcommand_from ${name}' -f -a '${own.join(" ")}'`]),
    ...options.map(
      (option) =>
        `complete -c portolan -n '__fish_seen_subcommand_from ${name}' -l ${option.flag.replace(/^--/, "")}${option.takesValue ? " -x -a '(__portolan_words)'" : ""} -d ${quoteFish(option.description)}`,
    ),
  ]);
  return `# portolan completion for fish. Save as ~/.config/fish/completions/portolan.fish
function __portolan_words
  set -l words (commandline -opc) (commandline -ct)
  set -l found (portolan completion words -- $words[2..-1] 2>/dev/null)
  # Files only where nothing else fits.
  if set -q found[1]
    printf '%s\\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c portolan -f
complete -c portolan -n 'not __fish_use_subcommand' -a '(__portolan_words)'
${lines.join("\n")}
complete -c portolan -n '__fish_seen_subcommand_from completion' -f -a '${SHELLS.join(" ")}'
`;
}

function quoteZsh(text: string): string {
  return text.replaceAll("'", "'\\''").replace(/[[\]:]/g, "\\$&");
}

function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
