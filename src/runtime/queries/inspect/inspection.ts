import type { Inspection } from "../../inspection.ts";
import type { RunContext } from "../../run-context.ts";
import type { RunId } from "../../../protocol/ids.ts";
import type { Queries } from "../queries.ts";
import { inspectAgent } from "./inspect-agent.ts";
import { inspectCompletion } from "./inspect-completion.ts";
import { inspectRun } from "./inspect-run.ts";

/** Creates the view of a runtime that operators have. */
export function createInspection(
  { log, agents, environment, limits }: RunContext,
  queries: Queries,
  isInMemory: (runId: RunId) => boolean,
): Inspection {
  let instance: string | undefined;
  const startedAt = new Date(environment.now()).toISOString();
  return {
    server: () => ({
      instance: (instance ??= environment.newId()),
      started_at: startedAt,
      durability: log.durability,
      limits: Object.fromEntries(Object.entries(limits).map(([name, limit]) => [toSnakeCase(name), limit])),
    }),
    agent: (name) => inspectAgent(agents, name),
    async run(runId, at) {
      const run = await queries.run(runId);
      return inspectRun(log, run, { at, isInMemory: isInMemory(runId) });
    },
    completion: async (requestId, callId) => inspectCompletion(log, await queries.request(requestId), callId),
  };
}

function toSnakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
