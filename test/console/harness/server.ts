import { createRuntime } from "troupe";
import { createMetrics } from "troupe/http";
import type { Agent, EventLog, Runtime } from "troupe";
import { readConsole, serve } from "troupe/node";
import type { ServeOptions } from "troupe/node";
import { assistant } from "../../../agents/assistant.ts";
import { calculator } from "../../../agents/calculator.ts";
import { echo } from "../../../agents/echo.ts";
import { interviewer } from "../../../agents/interviewer.ts";
import { order } from "../../../agents/order.ts";
import { payments } from "../../../agents/payments.ts";
import { team } from "../../../agents/team.ts";
import { ticker } from "../../../agents/ticker.ts";

/** A server with the console. */
export interface ConsoleServer extends AsyncDisposable {
  readonly url: string;
  readonly runtime: Runtime;
  /** Starts a turn and returns the ids; the turn continues. */
  start(
    agent: string,
    input: string,
    more?: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly run_id: string; readonly request_id: string }>;
}

/** Starts a server with the demo agents and further ones, by default with a memory log, and the built console. */
export async function startConsole(
  agents: readonly Agent[] = [],
  { log, ...options }: Omit<ServeOptions, "console"> & { readonly log?: EventLog } = {},
): Promise<ConsoleServer> {
  const demos = [assistant, calculator, echo, interviewer, order, payments, team, ticker];
  const metrics = createMetrics();
  const runtime = createRuntime({ agents: [...demos, ...agents], telemetry: metrics, ...(log && { log }) });
  const server = await serve(runtime, { metrics, ...options, console: await readConsole() });
  return {
    url: server.url,
    runtime,
    async start(agent, input, more = {}) {
      const answer = await fetch(`${server.url}/${agent}/process`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ type: "ChatRequest", input, ...more }),
      });
      return (await answer.json()) as { readonly run_id: string; readonly request_id: string };
    },
    [Symbol.asyncDispose]: async () => {
      await server.close({ graceMs: 0 });
      await runtime.close({ drainMs: 0 });
    },
  };
}
