export { testEventLog } from "./event-log/test-event-log.ts";
export type { EventLogSubject } from "./event-log/subject.ts";
export { testProtocol } from "./protocol/register.ts";
export type { TestProtocolOptions } from "./protocol/register.ts";
