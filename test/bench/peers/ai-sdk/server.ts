// The cost of a stream of the AI SDK: a stream of UI messages, as its React hook reads it. Nothing is stored.
import { serve } from "@hono/node-server";
import { createUIMessageStream, createUIMessageStreamResponse } from "ai";
import { Hono } from "hono";
import { callsTool, DELTAS, obeySignals, PORT, tick, toContent } from "../../servers/setting.ts";

const app = new Hono();
app.post("/stream_request", async (c) => {
  const { input } = await c.req.json<{ readonly input: string }>();
  const stream = createUIMessageStream({
    async execute({ writer }) {
      writer.write({ type: "start" });
      writer.write({ type: "text-start", id: "t" });
      for (let index = 0; index < DELTAS; index += 1) {
        await tick();
        if (callsTool(index)) {
          writer.write({ type: "tool-input-available", toolCallId: "c", toolName: "lookup", input: {} });
          writer.write({ type: "tool-output-available", toolCallId: "c", output: "found" });
        }
        writer.write({ type: "text-delta", id: "t", delta: toContent(input, index) });
      }
      writer.write({ type: "text-end", id: "t" });
      writer.write({ type: "finish" });
    },
  });
  return createUIMessageStreamResponse({ stream });
});

obeySignals();
serve({ fetch: app.fetch, port: PORT, hostname: "127.0.0.1" }, () => console.log("READY"));
