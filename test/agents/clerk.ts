import { createRuntime, defineAgent, memoryLog } from "troupe";
import type { Agent, EventLog } from "troupe";
import type { RequestId, RunId } from "troupe/protocol";
import { z } from "zod";

/** An agent whose code changes under its open turns. */
export interface Clerk {
  readonly agent: Agent;
  /** Whether its code takes another path than at first, so that its turns are held when they continue. */
  isChanged: boolean;
}

/** An agent that asks for a name and a colour at once. */
export function createClerk(): Clerk {
  const clerk: Clerk = {
    isChanged: false,
    agent: defineAgent({
      name: "clerk",
      purpose: "Asks for a name and a colour.",
      async chat(_input, turn) {
        if (clerk.isChanged) await turn.text("One moment.");
        const [{ name }, { colour }] = await Promise.all([
          turn.waitForInput(z.object({ name: z.string().describe("What is your name?") })),
          turn.waitForInput(z.object({ colour: z.string().describe("What is your favourite colour?") })),
        ]);
        return `${name} likes ${colour}.`;
      },
    }),
  };
  return clerk;
}

/** A turn of a clerk that has asked, in a log whose process has ended. */
export interface LeftTurn {
  readonly log: EventLog;
  readonly requestId: RequestId;
  readonly runId: RunId;
}

/** Begins a turn of a clerk in a process that ends when it asks. */
export async function beginTurn({ agent }: Clerk): Promise<LeftTurn> {
  const log = { ...memoryLog(), close: async () => {} };
  const runtime = createRuntime({ agents: [agent], log });
  const receipt = await runtime.process("clerk", { type: "ChatRequest", input: "go" });
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  await runtime.close();
  const { requestId, runId } = receipt;
  return { log, requestId, runId: runId ?? "" };
}
