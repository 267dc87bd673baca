export { collect } from "./collect.ts";
export { checkLog } from "./log-check.ts";
export type { AgentCheck, LogCheck, LogCheckOptions, Misfit } from "./log-check.ts";
export { manualEnvironment } from "./manual-environment.ts";
export type { ManualEnvironment, ManualEnvironmentOptions } from "./manual-environment.ts";
export { runConformance } from "./protocol/conformance.ts";
export type { CaseInfo, CaseResult, ConformanceOptions, Report } from "./protocol/conformance.ts";
export type { AgentRole, RoleNames } from "./protocol/roles.ts";
export type { TargetOptions } from "./protocol/target.ts";
