// The cost of an event stream with Hono alone: nothing is stored, and no event can be read again.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { callsTool, DELTAS, PORT, obeySignals, tick, toContent } from "../setting.ts";

const app = new Hono();
let runs = 0;
app.post("/stream_request", async (c) => {
  const { input, request_id } = await c.req.json<{ readonly input: string; readonly request_id: string }>();
  runs += 1;
  const address = { run_id: runs, agent: "bench", depth: 0 };
  let id = 0;
  return streamSSE(c, async (stream) => {
    const say = async (event: object): Promise<void> => {
      id += 1;
      await stream.writeSSE({ id: String(id), data: JSON.stringify({ id, ...address, ...event }) });
    };
    await say({ type: "RequestStarted", role: "system", request_id });
    for (let index = 0; index < DELTAS; index += 1) {
      await tick(input);
      if (callsTool(index)) {
        await say({ type: "ToolCall", role: "assistant", tool_call_id: id, name: "lookup", args: {} });
        await say({ type: "ToolResult", role: "tool", tool_call_id: id, result: "found" });
      }
      await say({ type: "TextOutput", role: "assistant", content: toContent(input, index) });
    }
    await say({ type: "RequestCompleted", role: "system", request_id, finish_reason: "success" });
  });
});

obeySignals();
serve({ fetch: app.fetch, port: PORT, hostname: "127.0.0.1" }, () => console.log("READY"));
