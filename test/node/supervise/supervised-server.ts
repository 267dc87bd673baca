// A server in a child process: it sends its address, and throws on request.
import { createRuntime, defineAgent } from "troupe";
import { createMetrics } from "troupe/http";
import { serve, superviseProcess } from "troupe/node";
import { echo } from "../../../agents/echo.ts";
import { ticker } from "../../../agents/ticker.ts";

const careless = defineAgent({
  name: "careless",
  purpose: "Leaves work behind that fails outside any call.",
  async chat(input) {
    if (input === "timer") setTimeout(fail, 1);
    else if (input === "microtask") queueMicrotask(fail);
    else if (input === "rejection") void Promise.resolve().then(fail);
    await new Promise(() => {});
  },
});

function fail(): never {
  throw new Error("left behind in /home/ada/agent.ts");
}

const telemetry = createMetrics({ log: (message) => console.error(message) });
const runtime = createRuntime({ agents: [echo, ticker, careless], telemetry });
await runtime.ready();
superviseProcess(runtime, { telemetry });
const server = await serve(runtime, { metrics: telemetry });
process.on("message", () => void setImmediate(fail));
process.send?.(server.url);
