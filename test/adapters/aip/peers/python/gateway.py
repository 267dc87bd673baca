"""A gateway without subscriptions; ends when its input is closed. It prints its address and each registration."""

import queue
import sys
import threading
from concurrent import futures

import grpc

import aip_pb2 as pb
import aip_pb2_grpc as rpc


def say(line):
    """Prints a line with one write: calls run in several threads, and the parts of their lines must not mix."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Gateway(rpc.GatewayServiceServicer):
    def __init__(self):
        self.nodes = {}
        self.lock = threading.Lock()

    def RegisterAgent(self, info, context):
        with self.lock:
            if info.agent_id in self.nodes:
                context.abort(grpc.StatusCode.ALREADY_EXISTS, f"Agent [{info.agent_id}] already registered.")
            if any(other.address == info.address for other in self.nodes.values()):
                context.abort(grpc.StatusCode.ALREADY_EXISTS, f"Address [{info.address}] already registered.")
            self.nodes[info.agent_id] = info
        grpc.channel_ready_future(grpc.insecure_channel(info.address)).result(timeout=5)
        say(f"registered {info.agent_id}")
        return pb.RegisterAgentResponse(success=True, peers=self.peers())

    def DeregisterNode(self, request, context):
        gone = self.nodes.pop(request.node_id, None)
        say(f"left {request.node_id}")
        return pb.DeregisterNodeResponse(success=gone is not None)

    def Heartbeat(self, request, context):
        return pb.HeartbeatResponse(success=request.sender_id in self.nodes)

    def GetNodes(self, request, context):
        return pb.GetNodesResponse(peers=self.peers())

    def RouteAgentCalling(self, messages, context):
        first = next(messages)
        info = self.nodes.get(first.receiver_id)
        if info is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "Receiver not found")
        outgoing = queue.Queue()
        outgoing.put(first)

        def read():
            for message in messages:
                outgoing.put(message)

        threading.Thread(target=read, daemon=True).start()
        # The end of the caller's side is not passed on.
        stub = rpc.AgentServiceStub(grpc.insecure_channel(info.address))
        for answer in stub.CallAgent(iter(outgoing.get, None)):
            yield answer
        outgoing.put(None)

    def peers(self):
        return [pb.Peer(agent_info=info) for info in self.nodes.values()]


server = grpc.server(futures.ThreadPoolExecutor(max_workers=32))
rpc.add_GatewayServiceServicer_to_server(Gateway(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
say(f"127.0.0.1:{port}")
sys.stdin.read()
server.stop(0)
