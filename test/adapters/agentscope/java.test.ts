import { expect, test } from "vitest";
import { createResponse, fromJava, toJava } from "../../../src/adapters/agentscope/index.ts";
import type { AgentScopeObject } from "../../../src/adapters/agentscope/index.ts";
import { anyText } from "./harness/objects.ts";

function buildObjects(): AgentScopeObject[] {
  const response = createResponse({ sessionId: "s1", now: () => 1_700_000_000_000 });
  const objects: AgentScopeObject[] = [response.created(), response.inProgress()];
  const call = response.message({ type: "mcp_call", metadata: { some_key: { inner_key: 1 } } });
  objects.push(call.inProgress());
  objects.push(call.addContent({ type: "data", data: { call_id: "c", arguments: '{"a_b":1}' } }));
  objects.push(call.completed({ input_tokens: 3 }));
  const image = response.message();
  objects.push(
    image.inProgress(),
    image.addContent({ type: "image", image_url: "/a.png" }),
    image.completed(),
  );
  const file = response.message({ type: "plugin_call_output", role: "tool" });
  objects.push(file.inProgress());
  objects.push(
    file.addContent({ type: "file", file_url: "/a", file_id: "i", filename: "n", file_data: null }),
  );
  objects.push(file.failed({ code: "TOOL_EXECUTION_FAILED", message: "no" }));
  objects.push(response.completed({ input_tokens: 3 }));
  return objects;
}

test("keys of objects are camelCase, types upper case, times milliseconds, lists never null", () => {
  const [created, , opened, data, , , image, ...rest] = buildObjects().map(toJava);
  expect(created).toEqual({
    sequenceNumber: 0,
    object: "response",
    status: "created",
    error: null,
    id: anyText,
    createdAt: 1_700_000_000_000,
    completedAt: null,
    output: [],
    usage: null,
    sessionId: "s1",
  });
  expect(opened).toMatchObject({
    type: "MCP_TOOL_CALL",
    content: [],
    metadata: { some_key: { inner_key: 1 } },
  });
  expect(data).toMatchObject({
    msgId: anyText,
    type: "data",
    data: { call_id: "c", arguments: '{"a_b":1}' },
  });
  expect(image).toMatchObject({ imageUrl: "/a.png" });
  expect(rest.at(-1)).toMatchObject({
    completedAt: 1_700_000_000_000,
    usage: { input_tokens: 3 },
    output: [
      { type: "MCP_TOOL_CALL", content: [{ data: { call_id: "c" } }] },
      { type: "MESSAGE", content: [{ imageUrl: "/a.png" }] },
      { type: "PLUGIN_CALL_OUTPUT", content: [{ fileUrl: "/a", fileId: "i", fileData: null }] },
    ],
  });
});

test("reading what was written gives the same objects", () => {
  const objects = buildObjects();
  const read = objects.map((object) =>
    fromJava(JSON.parse(JSON.stringify(toJava(object))) as object as never),
  );
  expect(read).toEqual(objects);
});
