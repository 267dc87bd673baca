import type * as grpc from "@grpc/grpc-js";
import type { Codecs } from "../wire/codec.ts";
import type { MessageName } from "../wire/messages.ts";

interface Method {
  readonly request: MessageName;
  readonly response: MessageName;
  readonly requestStream?: true;
  readonly responseStream?: true;
  /** Messages stay bytes, so that they can be passed on unchanged. */
  readonly bytes?: true;
}

/** The methods of the three services. */
export const SERVICES = {
  AgentService: {
    CallAgent: {
      request: "AgentMessage",
      response: "AgentMessage",
      requestStream: true,
      responseStream: true,
      bytes: true,
    },
  },
  ToolService: { CallTool: { request: "ToolRequest", response: "ToolResponse", bytes: true } },
  GatewayService: {
    RouteAgentCalling: {
      request: "AgentMessage",
      response: "AgentMessage",
      requestStream: true,
      responseStream: true,
      bytes: true,
    },
    RouteToolCalling: { request: "ToolRequest", response: "ToolResponse", bytes: true },
    RegisterAgent: { request: "AgentInfo", response: "RegisterAgentResponse" },
    RegisterTool: { request: "ToolBoxInfo", response: "RegisterToolResponse" },
    DeregisterNode: { request: "DeregisterNodeRequest", response: "DeregisterNodeResponse" },
    GetNodes: { request: "GetNodesRequest", response: "GetNodesResponse" },
    Heartbeat: { request: "HeartbeatRequest", response: "HeartbeatResponse" },
    UpdateNodeInfo: { request: "UpdateNodeInfoRequest", response: "UpdateNodeInfoResponse" },
    SubscribeToUpdates: {
      request: "UpdateSubscriptionRequest",
      response: "NodeUpdate",
      responseStream: true,
    },
    Unsubscribe: { request: "UnsubscribeRequest", response: "UnsubscribeResponse" },
  },
} as const;

export type ServiceName = keyof typeof SERVICES;

/** The path of a method, as it is on the wire. */
export function methodPath<Service extends ServiceName>(
  service: Service,
  method: keyof (typeof SERVICES)[Service] & string,
): string {
  return `/grpc_service.${service}/${method}`;
}

/** The definition of a service for the library. */
export function toDefinition(service: ServiceName, codecs: Codecs): grpc.ServiceDefinition {
  const methods = Object.entries<Method>(SERVICES[service]);
  const entries = methods.map(([name, { request, response, requestStream, responseStream, bytes }]) => [
    name,
    {
      path: `/grpc_service.${service}/${name}`,
      requestStream: requestStream === true,
      responseStream: responseStream === true,
      requestSerialize: bytes ? asIs : codecs[request].encode,
      requestDeserialize: bytes ? asIs : codecs[request].decode,
      responseSerialize: bytes ? asIs : codecs[response].encode,
      responseDeserialize: bytes ? asIs : codecs[response].decode,
    },
  ]);
  return Object.fromEntries(entries) as grpc.ServiceDefinition;
}

/** Bytes that are passed on unchanged. */
export function asIs(bytes: Buffer): Buffer {
  return bytes;
}
