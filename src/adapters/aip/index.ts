export { createAipGateway } from "./gateway/gateway.ts";
export type { AipGateway, AipGatewayOptions } from "./gateway/gateway.ts";
export { joinAipGateway } from "./node/join.ts";
export type { AipNode, JoinAipGatewayOptions } from "./node/join.ts";
export { aipAgent } from "./client/aip-agent.ts";
export type { AipAgentOperations, AipAgentOptions } from "./client/aip-agent.ts";
export { aipToolbox } from "./client/aip-toolbox.ts";
export type { AipToolboxOptions } from "./client/aip-toolbox.ts";
export type { AipTarget } from "./client/target.ts";
