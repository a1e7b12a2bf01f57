// Installs the filter of system calls before a program starts. util-linux has no tool for it that is old enough, so
// Perl does, which most distributions need themselves.

import { seccompProgram, type SeccompOptions } from "../linux/seccomp.ts";

/** The number of the system call `seccomp`, by processor. */
const SECCOMP: Readonly<Record<string, number>> = { x64: 317, arm64: 277 };

/** The structure that the kernel expects is the number of instructions and their address. */
const LOADER = `my $number = shift; my $filter = pack("H*", shift);
syscall($number, 1, 0, pack("S x6 P", length($filter) / 8, $filter)) == 0 or die "portolan: the filter of system calls was refused: $!\\n";
exec { $ARGV[0] } @ARGV; die "portolan: $ARGV[0]: $!\\n";`;

/** The words before the command. Undefined for a processor without a table of system calls. */
export function filterWords(perl: string, options: SeccompOptions): string[] | undefined {
  const { arch = process.arch } = options;
  const filter = seccompProgram(options);
  const number = SECCOMP[arch];
  if (filter === undefined || number === undefined) return undefined;
  return [perl, "-e", LOADER, "--", String(number), Buffer.from(filter).toString("hex")];
}
