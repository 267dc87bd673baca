"""An agent and a toolbox that register at the gateway given as argument; ends when its input is closed."""

import json
import sys
import threading
from concurrent import futures

import grpc

import aip_pb2 as pb
import aip_pb2_grpc as rpc


class Agent(rpc.AgentServiceServicer):
    """Answers each quest with its text backwards and its other content unchanged."""

    def CallAgent(self, messages, context):
        for quest in messages:
            stop = quest.session_status == pb.AgentMessage.STOP_QUEST
            text = "".join(item.text for item in quest.content)
            others = [item for item in quest.content if item.WhichOneof("data") != "text"]
            yield pb.AgentMessage(
                sender_id=quest.receiver_id,
                receiver_id=quest.sender_id,
                session_id=quest.session_id,
                session_status=pb.AgentMessage.STOP_RESPONSE if stop else pb.AgentMessage.HOLD_RESPONSE,
                task_info=quest.task_info,
                content=[pb.ContentItem(text=text[::-1]), *others],
            )
            if stop:
                return


class Toolbox(rpc.ToolServiceServicer):
    """Has one tool, which adds."""

    def CallTool(self, request, context):
        answer = pb.ToolResponse(
            sender_id=request.receiver_id, receiver_id=request.sender_id, session_id=request.session_id
        )
        if request.tool_name != "add":
            context.abort(grpc.StatusCode.INTERNAL, f"Handling request failure: {request.tool_name}")
        try:
            arguments = json.loads(request.arguments)
            answer.content.append(pb.ContentItem(text=str(arguments["a"] + arguments["b"])))
            answer.error_message = "No Error"
        except Exception as error:
            answer.is_error = True
            answer.error_message = f"Error executing tool: {error!r}"
        return answer


def serve(add, servicer):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    add(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, f"127.0.0.1:{port}"


def main():
    gateway = rpc.GatewayServiceStub(grpc.insecure_channel(sys.argv[1]))
    agent, agent_address = serve(rpc.add_AgentServiceServicer_to_server, Agent())
    toolbox, tool_address = serve(rpc.add_ToolServiceServicer_to_server, Toolbox())
    registered = gateway.RegisterAgent(
        pb.AgentInfo(
            agent_id="Python_Agent",
            address=agent_address,
            name="Python agent",
            domain="default",
            input_mode=[pb.TEXT, pb.IMAGE],
            output_mode=[pb.TEXT],
            description="Says everything backwards.",
            skills=[pb.AgentInfo.AgentSkill(skill_id="reverse", capability="Reverses a text.")],
        ),
        timeout=10,
    )
    arguments = str({"a": str(int), "b": str(int)})
    tool = pb.ToolInfo(name="add", description="Adds two numbers.", arguments=arguments)
    gateway.RegisterTool(
        pb.ToolBoxInfo(
            toolbox_id="python-tools", address=tool_address, name="tools", domain="math", tools=[tool]
        ),
        timeout=10,
    )
    left = threading.Event()

    def beat():
        while not left.wait(10):
            for node in ("Python_Agent", "python-tools"):
                gateway.Heartbeat(pb.HeartbeatRequest(sender_id=node), timeout=10)

    threading.Thread(target=beat, daemon=True).start()
    peers = [peer.agent_info.agent_id or peer.toolbox_info.toolbox_id for peer in registered.peers]
    print(json.dumps({"success": registered.success, "peers": peers}), flush=True)
    sys.stdin.read()
    left.set()
    for node in ("Python_Agent", "python-tools"):
        gateway.DeregisterNode(pb.DeregisterNodeRequest(node_id=node), timeout=10)
    agent.stop(1)
    toolbox.stop(1)


main()
