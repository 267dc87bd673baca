// The cost of a stream of Mastra's server, with a model that says texts at a pace. Nothing is stored. It is installed in this
// folder, not with the project, so its modules have no types here.
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { callsTool, DELTAS, obeySignals, PORT, tick, toContent } from "../../servers/setting.ts";

type Make = new (options: object) => { init(): Promise<void> };
type Part = Readonly<Record<string, unknown>>;

const load = async (name: string): Promise<Readonly<Record<string, Make>>> =>
  (await import(name)) as Readonly<Record<string, Make>>;
const { Mastra } = await load("@mastra/core");
const { Agent } = await load("@mastra/core/agent");
const { MastraServer } = await load("@mastra/hono");
if (!Mastra || !Agent || !MastraServer) throw new Error("npm install in this folder comes first");

const model = {
  specificationVersion: "v2",
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  async doGenerate() {
    throw new Error("the model only streams");
  },
  async doStream() {
    const stream = new ReadableStream<Part>({
      async start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({ type: "text-start", id: "t" });
        for (let index = 0; index < DELTAS; index += 1) {
          await tick();
          // A call by the provider, whose result is in the stream: Mastra does nothing for it.
          if (callsTool(index)) {
            const call = { toolCallId: "c", toolName: "lookup", providerExecuted: true };
            controller.enqueue({ type: "tool-call", ...call, input: "{}" });
            controller.enqueue({ type: "tool-result", ...call, result: "found" });
          }
          controller.enqueue({ type: "text-delta", id: "t", delta: toContent("", index) });
        }
        controller.enqueue({ type: "text-end", id: "t" });
        const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
        controller.enqueue({ type: "finish", finishReason: "stop", usage });
        controller.close();
      },
    });
    return { stream };
  },
};

const echo = new Agent({ id: "echo", name: "echo", instructions: "echo", model });
const mastra = new Mastra({ agents: { echo }, logger: false });
const app = new Hono();
await new MastraServer({ app, mastra }).init();

obeySignals();
serve({ fetch: app.fetch, port: PORT, hostname: "127.0.0.1" }, () => console.log("READY"));
