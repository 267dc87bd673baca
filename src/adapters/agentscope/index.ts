export { agentscope } from "./agentscope.ts";
export type { AgentScopeOptions } from "./routes/options.ts";
export { createResponse } from "./builders/response.ts";
export type { NewMessage, ResponseBuilder, ResponseOptions } from "./builders/response.ts";
export type { MessageBuilder } from "./builders/message.ts";
export type { ContentBuilder } from "./builders/content.ts";
export { fromJava, toJava } from "./dialect/java.ts";
export type { JavaObject } from "./dialect/java.ts";
export type {
  AgentScopeObject,
  ContentObject,
  ContentValue,
  MessageObject,
  ObjectError,
  ResponseObject,
  Status,
  UsageObject,
} from "./objects.ts";
