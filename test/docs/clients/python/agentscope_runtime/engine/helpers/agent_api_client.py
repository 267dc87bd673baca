"""Sends what HTTPAgentAPIClient sends, which no registry here has, and reads frames as it does."""

import json
import urllib.request
from types import SimpleNamespace
from uuid import uuid4


def create_simple_text_request(query, session_id=None):
    content = {"object": "content", "delta": False, "type": "text", "text": query}
    message = {
        "object": "message",
        "status": "created",
        "id": f"msg_{uuid4()}",
        "type": "message",
        "role": "user",
        "content": [content],
    }
    return {"input": [message], "stream": True, "session_id": session_id}


def extract_text_from_event(event):
    if event.object != "message" or event.status != "completed" or not event.content:
        return None
    return "".join(item["text"] for item in event.content if item["type"] == "text" and item["text"])


class HTTPAgentAPIClient:
    def __init__(self, endpoint, token=None):
        self.endpoint = endpoint
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            "Cache-Control": "no-cache",
            "Authorization": f"Bearer {token}",
        }

    def stream(self, request):
        sent = urllib.request.Request(self.endpoint, json.dumps(request).encode(), self.headers, method="POST")
        with urllib.request.urlopen(sent) as response:
            for line in response:
                text = line.decode().strip()
                if text.startswith("data: "):
                    yield SimpleNamespace(**{"status": None, "content": None, **json.loads(text[6:])})
