// Public face of portolan.yaml.

export type { ServerFields } from "../manifest/index.ts";
export { addServer, changeServer, removeServer } from "./edit.ts";
export {
  looksLikeWorkspace,
  parseWorkspace,
  type PlacedWord,
  type WorkspaceResult,
  type WorkspaceSettings,
} from "./read.ts";
export { WORKSPACE } from "./schema.ts";
