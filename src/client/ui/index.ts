export { createChatTransport } from "./chat-transport.ts";
export type { AgentChatTransport, ChatTransportOptions } from "./chat-transport.ts";
