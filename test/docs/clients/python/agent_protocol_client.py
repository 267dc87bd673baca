"""Sends what the client of the protocol sends, which no registry here has, from its own names."""

import json
import urllib.request
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any, Optional


@dataclass
class TaskRequestBody:
    input: Optional[str] = None
    additional_input: Optional[dict] = None


class StepRequestBody(TaskRequestBody):
    pass


@dataclass
class Configuration:
    host: str


class ApiClient:
    def __init__(self, configuration):
        self.configuration = configuration
        self.default_headers = {"User-Agent": "OpenAPI-Generator/1.0.0/python"}

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_: Any):
        pass

    def set_default_header(self, name, value):
        self.default_headers[name] = value


class AgentApi:
    def __init__(self, client):
        self.client = client

    async def create_agent_task(self, task_request_body):
        return self._post("/ap/v1/agent/tasks", task_request_body)

    async def execute_agent_task_step(self, task_id, step_request_body):
        return self._post(f"/ap/v1/agent/tasks/{task_id}/steps", step_request_body)

    def _post(self, path, body):
        given = {key: value for key, value in asdict(body).items() if value is not None}
        headers = {**self.client.default_headers, "Accept": "application/json", "Content-Type": "application/json"}
        request = urllib.request.Request(
            self.client.configuration.host + path, json.dumps(given).encode(), headers, method="POST"
        )
        with urllib.request.urlopen(request) as response:
            return SimpleNamespace(**json.load(response))
