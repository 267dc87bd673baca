export { a2a } from "./a2a.ts";
export type { A2aOptions } from "./a2a.ts";
export { a2aAgent } from "./client/a2a-agent.ts";
export type { A2aAgentOptions, A2aLimits } from "./client/a2a-agent.ts";
export type { A2aConnectionOptions } from "./client/connection.ts";
