"""Asks an agent and a tool through a gateway, and prints what comes back as lines of JSON.

Arguments: the gateway, the receiver, a tool, its arguments; then one text for each quest.
"""

import json
import queue
import sys

import grpc

import aip_pb2 as pb
import aip_pb2_grpc as rpc

address, receiver, tool, arguments, *texts = sys.argv[1:]
gateway = rpc.GatewayServiceStub(grpc.insecure_channel(address))


def show(what):
    print(json.dumps(what), flush=True)


peers = gateway.GetNodes(pb.GetNodesRequest(agent_id="py", domain="default"), timeout=10).peers
show([peer.agent_info.agent_id or peer.toolbox_info.toolbox_id for peer in peers])

outgoing = queue.Queue()
answers = gateway.RouteAgentCalling(iter(outgoing.get, None))


def send(status, number, text):
    outgoing.put(
        pb.AgentMessage(
            sender_id="py",
            receiver_id=receiver,
            session_id="agent_python_1",
            session_status=status,
            task_info=pb.TaskInfo(task_id="task_py_1"),
            message_id=f"msg_{number}",
            content=[pb.ContentItem(text=text)],
        )
    )


for number, text in enumerate([*texts, "GoodBye!"]):
    last = number == len(texts)
    first = pb.AgentMessage.START_QUEST if number == 0 else pb.AgentMessage.HOLD_QUEST
    send(pb.AgentMessage.STOP_QUEST if last else first, number, text)
    answer = next(answers)
    show(
        {
            "status": pb.AgentMessage.SessionStatus.Name(answer.session_status),
            "task": [answer.task_info.task_id, pb.TaskInfo.TaskStatus.Name(answer.task_info.task_status)],
            "from": answer.sender_id,
            "to": answer.receiver_id,
            "session": answer.session_id,
            "reply_to": answer.reply_to_message_id,
            "text": "".join(item.text for item in answer.content),
        }
    )
show(["end", len(list(answers)), answers.code().name])
outgoing.put(None)

result = gateway.RouteToolCalling(
    pb.ToolRequest(
        sender_id="py", receiver_id="troupe", session_id="tool_py", tool_name=tool, arguments=arguments
    ),
    timeout=10,
)
show({"is_error": result.is_error, "message": result.error_message, "text": result.content[0].text})
