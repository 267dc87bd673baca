import type {
  InspectedAgent,
  InspectedCompletion,
  InspectedRun,
  InspectedServer,
} from "../../runtime/inspection.ts";
import type { PageServer } from "./page-server.ts";

/** The process of the server, with the version of the package. */
export type InspectedProcess = InspectedServer & { readonly version?: string };

export async function readInspectedProcess(
  server: PageServer,
  signal: AbortSignal,
): Promise<InspectedProcess> {
  const { json } = await server.ask("GET", "/inspect", { signal });
  return json as InspectedProcess;
}

/** An agent with everything it calls. */
export async function readInspectedAgent(
  server: PageServer,
  agent: string,
  signal: AbortSignal,
): Promise<InspectedAgent> {
  const { json } = await server.ask("GET", `/inspect/agents/${encodeURIComponent(agent)}`, { signal });
  return json as InspectedAgent;
}

/** The state of a run as of an event; without one, now. */
export async function readInspectedRun(
  server: PageServer,
  runId: string,
  { at, signal }: { readonly at?: number | undefined; readonly signal: AbortSignal },
): Promise<InspectedRun> {
  const path = `/inspect/runs/${encodeURIComponent(runId)}`;
  const { json } = await server.ask("GET", path, { query: { at }, signal });
  return json as InspectedRun;
}

/** What a completion was asked. */
export async function readInspectedCompletion(
  server: PageServer,
  requestId: string,
  callId: string,
  signal: AbortSignal,
): Promise<InspectedCompletion> {
  const path = `/inspect/completions/${encodeURIComponent(requestId)}/${encodeURIComponent(callId)}`;
  const { json } = await server.ask("GET", path, { signal });
  return json as InspectedCompletion;
}
