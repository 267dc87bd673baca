import type * as grpc from "@grpc/grpc-js";
import { answering, endWith, gatewayIdOf } from "../rpc/server.ts";
import type { OperatorReport } from "../rpc/server.ts";
import { CallStatus, STATUS } from "../rpc/status.ts";
import type { Library } from "../wire/load.ts";
import type { AgentInfo, MessageTypes, NodeUpdate, ToolBoxInfo } from "../wire/messages.ts";
import type { Leases } from "./leases.ts";
import type { Registration } from "./registration.ts";
import type { Registry } from "./registry.ts";
import type { GatewayRouter } from "./router.ts";

/** The parts behind the methods of a gateway. */
export interface GatewayParts {
  readonly library: Library;
  readonly registry: Registry;
  readonly leases: Leases;
  readonly registration: Registration;
  readonly router: GatewayRouter;
  readonly report: OperatorReport;
}

/** The most subscriptions at the same time. */
const SUBSCRIPTIONS_LIMIT = 1_000;

/** The most updates that wait for a slow subscriber. */
const UPDATES_LIMIT = 1_000;

/** The handlers of the GatewayService. */
export function toGatewayService(parts: GatewayParts): grpc.UntypedServiceImplementation {
  const { registry, leases, registration, report, router } = parts;
  return {
    RouteAgentCalling: router.sessions.accept,
    RouteToolCalling: answering(report, (bytes: Buffer, caller) => router.callTool(bytes, caller)),

    RegisterAgent: answering(report, async (info: AgentInfo, { gatewayId }) => {
      await registration.register({ agent_info: info });
      return { success: true, peers: registry.list("default", { learned: gatewayId === undefined }) };
    }),

    RegisterTool: answering(report, async (info: ToolBoxInfo) => {
      await registration.register({ toolbox_info: info });
      return { success: true };
    }),

    DeregisterNode: answering(report, ({ node_id: id }: MessageTypes["DeregisterNodeRequest"]) => ({
      success: registration.deregister(id),
    })),

    GetNodes: answering(report, ({ domain }: MessageTypes["GetNodesRequest"], { gatewayId }) => ({
      peers: registry.list(domain, { learned: gatewayId === undefined }),
    })),

    Heartbeat: answering(report, ({ sender_id: id }: MessageTypes["HeartbeatRequest"]) =>
      leases.renew(id)
        ? { success: true, message: "Heartbeat received" }
        : { success: false, message: `Node ${id} not registered` },
    ),

    UpdateNodeInfo: answering(report, async ({ node_info: peer }: MessageTypes["UpdateNodeInfoRequest"]) => {
      await registration.update(peer ?? {});
      return { success: true, message: "Node info updated" };
    }),

    SubscribeToUpdates: (call: UpdatesCall) => subscribe(parts, call),

    Unsubscribe: answering(
      report,
      ({ subscriber_id: id, node_ids: ids }: MessageTypes["UnsubscribeRequest"]) =>
        registry.updates.unsubscribe(id, ids)
          ? { success: true, message: "Unsubscribed" }
          : { success: false, message: `Subscriber ${id} has no subscription` },
    ),
  };
}

/** The handlers for callers who come to the agents and the toolbox directly. */
export function toNodeServices({ report, router }: GatewayParts): {
  readonly AgentService: grpc.UntypedServiceImplementation;
  readonly ToolService: grpc.UntypedServiceImplementation;
} {
  return {
    AgentService: { CallAgent: router.sessions.accept },
    ToolService: { CallTool: answering(report, (bytes: Buffer, caller) => router.callTool(bytes, caller)) },
  };
}

type UpdatesCall = grpc.ServerWritableStream<MessageTypes["UpdateSubscriptionRequest"], NodeUpdate>;

function subscribe({ library, registry: { updates } }: GatewayParts, call: UpdatesCall): void {
  // A stream without this listener would end the process when its connection breaks.
  call.on("error", () => {});
  if (updates.size >= SUBSCRIPTIONS_LIMIT) {
    const details = `the gateway has ${SUBSCRIPTIONS_LIMIT} subscriptions, its maximum`;
    endWith(call, new CallStatus(STATUS.resourceExhausted, details));
    return;
  }
  let waiting = 0;
  const { subscriber_id: id, node_ids: nodeIds } = call.request;
  const unsubscribe = updates.subscribe(
    {
      id,
      isGateway: gatewayIdOf(call.metadata) !== undefined,
      send(update) {
        if (waiting >= UPDATES_LIMIT) {
          unsubscribe();
          endWith(
            call,
            new CallStatus(STATUS.aborted, "the subscriber reads too slowly; read all nodes again"),
          );
          return;
        }
        waiting += 1;
        call.write(update, () => {
          waiting -= 1;
        });
      },
      end: () => call.end(),
    },
    nodeIds,
  );
  // Tells the subscriber that it gets every update from now on.
  call.sendMetadata(new library.grpc.Metadata());
  call.on("cancelled", unsubscribe);
  call.on("close", unsubscribe);
}
