import { createRuntime } from "troupe";
import type { Agent } from "troupe";
import { a2a } from "troupe/adapters/a2a";
import { agUi } from "troupe/adapters/ag-ui";
import { agentic } from "troupe/adapters/agentic";
import { agentscope } from "troupe/adapters/agentscope";
import { aipGateway } from "troupe/adapters/aip";
import { tasks } from "troupe/adapters/tasks";
import { serve } from "troupe/node";
import { sqliteLog } from "troupe/storage/sqlite";
import { interviewer } from "../../agents/interviewer.ts";
import { payments } from "../../agents/payments.ts";

/** Where a server with all wires listens. */
export interface Addresses {
  readonly url: string;
  /** The address of the AIP gateway. */
  readonly aip: string;
}

/** Serves two agents that ask, and others, over all wires of the package, on free ports, with a durable log in a directory. */
export async function serveWires(
  directory: string,
  others: readonly Agent[] = [],
): Promise<Addresses & { close(): Promise<void> }> {
  const runtime = createRuntime({ agents: [payments, interviewer, ...others], log: sqliteLog(directory) });
  await runtime.ready();
  const { url, listeners, close } = await serve(runtime, {
    port: 0,
    drain: false,
    // On a loaded machine a client may send over a connection in the moment in which the server closes it because nothing came.
    keepAliveMs: 60_000,
    adapters: [agentscope(), tasks(), agentic(), agUi(), a2a()],
    listeners: [aipGateway()],
  });
  return {
    url,
    aip: listeners[0]?.address ?? "",
    async close() {
      await close();
      await runtime.close();
    },
  };
}
