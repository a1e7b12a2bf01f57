// As whom the tests of the sandbox run their programs.

export const isRoot: boolean = process.getuid?.() === 0;

/** Root and an ordinary user where both are possible: needs("an ordinary user"). */
export const USERS: readonly string[] = isRoot ? ["root", "an ordinary user"] : ["an ordinary user"];
