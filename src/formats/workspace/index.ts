// Public face of portolan.yaml.

export { addServer, removeServer, type ServerFields } from "./edit.ts";
export {
  looksLikeWorkspace,
  parseWorkspace,
  type PlacedWord,
  type WorkspaceResult,
  type WorkspaceSettings,
} from "./parse.ts";
export { WORKSPACE_SHAPE } from "./shape.ts";
