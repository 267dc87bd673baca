import type { Quiescence } from "./checks/verify.ts";
import type { RemoteServer } from "./remote/server.ts";
import type { Plan } from "./plan.ts";

/** The complete protocol of a simulation, for debugging. */
export function toTrace({
  observer,
  clients,
  shared,
  hosts,
  remoteServer,
  plan,
}: TraceInput): readonly string[] {
  const lines = [`plan ${JSON.stringify(plan)}`];
  for (const [requestId, programs] of shared.programs)
    lines.push(`${requestId} performs ${JSON.stringify(Object.fromEntries(programs))}`);
  for (const [runId, { texts, records, removed }] of observer.runs) {
    lines.push(`run ${runId}${removed ? ", which was removed" : ""}`);
    for (let id = 0; id <= texts.length; id += 1) {
      const text = texts[id - 1];
      if (text !== undefined) lines.push(`  ${text}`);
      for (const record of records) if (record.after === id) lines.push(`  ${JSON.stringify(record)}`);
    }
  }
  for (const { asked } of clients)
    for (const { requestId, runId, doing, request, cursor } of asked)
      lines.push(
        `the client of ${requestId} in ${String(runId)} ${doing} at ${cursor}: ${JSON.stringify(request)}`,
      );
  for (const { runId, cursor } of shared.readers) lines.push(`a reader of ${runId} is at ${cursor}`);
  for (const { program, status, events } of remoteServer.requests.values())
    lines.push(`remote part ${program} is ${status}`, ...events.map((event) => `  ${event}`));
  return [...lines, ...hosts.reported];
}

/** The parts of such a protocol. */
export interface TraceInput extends Quiescence {
  readonly hosts: Quiescence["hosts"] & { readonly reported: readonly string[] };
  readonly remoteServer: RemoteServer;
  readonly plan: Plan;
}
