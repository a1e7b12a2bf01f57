// The launch plan of one server, and the news of its start.

import type { Progress } from "../install/index.ts";
import type { Denied, SandboxBackendName, SandboxMode } from "../model/index.ts";
import type { Box, ChosenMode, Clause, HeldBox, NamedPath, PathCheck } from "../sandbox/index.ts";

/** What happens between the wish to start a server and its end, beside what it says itself. */
export type LaunchNews =
  /** `checkPath` says what is wrong with paths and file URIs, `hiddenAmong` which paths the sandbox hides; absent where there is none. */
  | {
      readonly type: "planned";
      readonly plan: LaunchPlan;
      readonly checkPath?: PathCheck | undefined;
      readonly hiddenAmong?: ((words: readonly string[]) => readonly NamedPath[]) | undefined;
    }
  | ({ readonly type: "denied" } & Denied)
  /** Something that takes a while, such as a download. */
  | ({ readonly type: "progress"; readonly server: string } & Progress);

/** How a server was started, or would be: printable, without any value of its environment. */
export interface LaunchPlan {
  readonly server: string;
  readonly kind: "binary" | "npm" | "docker";
  /** Where the program comes from: a path of this machine, a package with version and hash, an image. */
  readonly source: string;
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly env: readonly string[];
  readonly sandbox: {
    readonly mode: SandboxMode;
    readonly by: ChosenMode["by"];
    readonly backend: SandboxBackendName;
    /** As it is really held; nothing of it is with the backend `none`. */
    readonly box: Box;
    /** What is not held; only in the modes `warn` and `off`. */
    readonly missing: readonly Clause[];
    readonly unheldDefaults: HeldBox["unheldDefaults"];
  };
  /** Paths that its arguments and variables name and its sandbox hides: most likely forgotten. */
  readonly notGranted: readonly NamedPath[];
  /** What is handed to the operating system. */
  readonly spawn: readonly string[];
}
