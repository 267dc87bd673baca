export { fsArtifacts } from "./artifacts.ts";
export { fsSecrets } from "./secrets.ts";
