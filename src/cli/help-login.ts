// What --help says about login and logout.

const EXIT_CODES = `
Exit codes:
  0    done
  2    wrong usage, or a declaration that cannot be used
  5    the login did not succeed, or needs a terminal or a browser that is not here
  70   a bug here
  130  interrupted (Ctrl-C)`;

export const LOGIN_HELP: string = `
A DRIVER.md says under auth.login how somebody signs in: a command, which runs in the driver's sandbox, or a page, which is opened in the browser. A command that asks questions needs a terminal. What is remembered is that you are logged in, never a password or token; those stay where the command or the page puts them.

A gateway that runs already notices by itself. --user is for a caller of the gateway, who has a home folder of their own for what the command leaves behind.

Examples:
  portolan login github-mcp
  portolan login github-mcp --user agent
${EXIT_CODES}`;

export const LOGOUT_HELP: string = `
Calls that need the driver are refused until somebody logs in again. Files that its own programs keep are not touched; they are named.

Examples:
  portolan logout github-mcp
  portolan logout github-mcp --user agent
${EXIT_CODES}`;
