"""Asks an agent once through a gateway, and prints the answers as a line of JSON, or the status if there are none.

Arguments: the gateway, the receiver, a text; then the authority of the gateway, and the key and certificate of the caller.
"""

import json
import sys

import grpc

import aip_pb2 as pb
import aip_pb2_grpc as rpc

address, receiver, text, *files = sys.argv[1:]


def read(path):
    with open(path, "rb") as file:
        return file.read()


if files:
    authority, *own = map(read, files)
    channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(authority, *own))
else:
    channel = grpc.insecure_channel(address)


def quest(status, number, said):
    return pb.AgentMessage(
        sender_id="py",
        receiver_id=receiver,
        session_id="agent_secure",
        session_status=status,
        message_id=f"msg_{number}",
        content=[pb.ContentItem(text=said)],
    )


quests = [quest(pb.AgentMessage.START_QUEST, 0, text), quest(pb.AgentMessage.STOP_QUEST, 1, "GoodBye!")]
try:
    answers = rpc.GatewayServiceStub(channel).RouteAgentCalling(iter(quests), timeout=60)
    print(json.dumps(["".join(item.text for item in answer.content) for answer in answers]), flush=True)
except grpc.RpcError as error:
    print(json.dumps(error.code().name), flush=True)
