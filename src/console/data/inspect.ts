import type {
  InspectedAgent,
  InspectedCompletion,
  InspectedRun,
  InspectedServer,
} from "../../runtime/inspection.ts";
import type { ReportPage } from "../../eval/report.ts";
import type { PageServer } from "./page-server.ts";

/** The process of the server, and what it offers the console. */
export interface InspectedProcess extends InspectedServer {
  /** The version of the package. */
  readonly version?: string;
  /** The address of a trace, with `{trace}` in the place of its id. */
  readonly trace_url?: string;
  /** The names of the data sets that this person may add runs to. */
  readonly data_sets?: readonly string[];
}

export async function readInspectedProcess(
  server: PageServer,
  signal: AbortSignal,
): Promise<InspectedProcess> {
  const { json } = await server.ask("GET", "/inspect", { signal });
  return json as InspectedProcess;
}

/** What became of runs that were added to a data set. */
export interface AddedToDataSet {
  readonly file: string;
  readonly added: number;
  readonly known: number;
  readonly empty: number;
  readonly cases: number;
}

/** Adds runs to a data set of the project. */
export async function addToDataSet(
  server: PageServer,
  name: string,
  runIds: readonly string[],
): Promise<AddedToDataSet> {
  const path = `/inspect/data-sets/${encodeURIComponent(name)}`;
  const { json } = await server.ask("POST", path, { body: { run_ids: runIds } });
  return json as AddedToDataSet;
}

/** What the newest evaluation of a data set has found; without reports if there was none. */
export async function readEvaluation(
  server: PageServer,
  name: string,
  signal: AbortSignal,
): Promise<ReportPage> {
  const path = `/inspect/data-sets/${encodeURIComponent(name)}/report`;
  const { json } = await server.ask("GET", path, { signal });
  return json as ReportPage;
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
