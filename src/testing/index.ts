export { collect } from "./collect.ts";
export { testEventLog } from "./event-log/test-event-log.ts";
export type { EventLogSubject } from "./event-log/subject.ts";
export { runConformance } from "./protocol/conformance.ts";
export type { CaseInfo, CaseResult, ConformanceOptions, Report } from "./protocol/conformance.ts";
export { testProtocol } from "./protocol/register.ts";
export type { TestProtocolOptions } from "./protocol/register.ts";
export type { Role, RoleNames } from "./protocol/roles.ts";
export type { TargetOptions } from "./protocol/target.ts";
