export { serveAcp } from "./acp.ts";
export type { AcpOptions, AcpStreams } from "./acp.ts";
export { readTextFile, runCommand, writeTextFile } from "./editor-tools.ts";
export type { CommandResult } from "./editor-tools.ts";
export { updatePlan } from "./plan.ts";
