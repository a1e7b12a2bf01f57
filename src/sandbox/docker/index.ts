// The docker backend, as the other rooms load it when a server is an image.

export { createDocker, openDocker } from "./backend.ts";
export { engineEnvironment, ensureImage, probeEngine, publishedPort } from "./engine.ts";
export { reapContainers } from "./orphans.ts";
