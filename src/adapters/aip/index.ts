export { createAipGateway } from "./gateway/gateway.ts";
export type { AipGateway, AipGatewayOptions } from "./gateway/gateway.ts";
export { joinAipGateway } from "./node/join.ts";
export type { AipNode, JoinAipGatewayOptions } from "./node/join.ts";
