// Public exports of portolan.yaml.

export type { ServerFields } from "../manifest/index.ts";
export { addServer, changeServer, removeServer } from "./edit.ts";
export {
  looksLikeWorkspace,
  parseWorkspace,
  type PlacedWord,
  readWorkspaceValue,
  type WorkspaceResult,
  type WorkspaceSettings,
} from "./read.ts";
export { WORKSPACE, type WorkspaceInput } from "./schema.ts";
export { WORKSPACE_TEMPLATE } from "./starter.ts";
