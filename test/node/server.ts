import { createRuntime, defineAgent } from "troupe";
import type { Agent, Runtime } from "troupe";
import { createMetrics } from "troupe/http";
import { serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";
import { echo } from "../../agents/echo.ts";
import { payments } from "../../agents/payments.ts";
import { ticker } from "../../agents/ticker.ts";

/** Handles `N M`: sends N texts of M characters each. */
const flood: Agent = defineAgent({
  name: "flood",
  purpose: "Says a lot.",
  async chat(input, turn) {
    const [times = 0, length = 0] = input.split(" ").map(Number);
    for (let said = 0; said < times; said += 1) await turn.text("x".repeat(length));
    return "done";
  },
});

/** A server on a socket, with real agents and a memory log. */
export async function startServer(
  options: ServeOptions = {},
): Promise<
  { readonly url: string; readonly runtime: Runtime; streams(): Promise<number> } & AsyncDisposable
> {
  const metrics = createMetrics();
  const runtime = createRuntime({ agents: [echo, payments, ticker, flood] });
  await runtime.ready();
  const server = await serve(runtime, { metrics, ...options });
  return {
    url: server.url,
    runtime,
    streams: async () => Number(/^troupe_streams (\d+)$/m.exec(await metrics.text())?.[1]),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await runtime.close();
    },
  };
}

/** Posts a chat and returns the answer's body. */
export async function chat(
  url: string,
  body: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown>> {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return (await answer.json()) as Record<string, unknown>;
}
