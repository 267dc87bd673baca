export type { FsArtifactsOptions } from "./artifacts.ts";
export { fsArtifacts } from "./artifacts.ts";
export { fsSecrets } from "./secrets.ts";
