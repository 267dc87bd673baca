export { createAipGateway } from "./gateway/gateway.ts";
export type { AipGateway, AipGatewayOptions } from "./gateway/gateway.ts";
