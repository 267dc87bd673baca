/** @module-tag long */
import fc from "fast-check";
import { defineAgent, defineTool } from "troupe";
import type { Agent, Turn } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { checkResponse, lastOf } from "./harness/objects.ts";
import { say, TestServer } from "./harness/server.ts";
import { show } from "./harness/web-ui.ts";

/** A step of an agent; `both` runs two lists of steps at the same time. */
type Step =
  | { readonly type: "text" | "empty" | "tool" | "broken tool" | "file" | "confirm" | "ask" | "throw" }
  | { readonly type: "both"; readonly one: readonly Step[]; readonly two: readonly Step[] };

const { steps } = fc.letrec<{ steps: readonly Step[]; step: Step }>((tie) => ({
  steps: fc.array(tie("step"), { maxLength: 4 }),
  step: fc.oneof(
    { maxDepth: 2 },
    fc.record({
      type: fc.constantFrom(
        ...(["text", "text", "empty", "tool", "broken tool", "file", "confirm", "ask", "throw"] as const),
      ),
    }),
    fc.record({ type: fc.constant("both" as const), one: tie("steps"), two: tie("steps") }),
  ),
}));

const tool = defineTool({
  name: "tool",
  description: "Works.",
  input: z.object({ works: z.boolean() }),
  effect: "idempotent",
  run({ works }, turn) {
    turn.progress("working ");
    if (!works) throw new Error("it does not work");
    return { done: true };
  },
});

function agentOf(program: readonly Step[]): Agent {
  return defineAgent({
    name: "random",
    purpose: "Does what a test says.",
    tools: [tool],
    chat: (_input, turn) => run(program, turn),
  });
}

async function run(program: readonly Step[], turn: Turn): Promise<void> {
  for (const step of program) await runStep(step, turn);
}

async function runStep(step: Step, turn: Turn): Promise<void> {
  switch (step.type) {
    case "text":
      return turn.text("some text ");
    case "empty":
      return turn.text("");
    case "tool":
      return void (await turn.tool(tool, { works: true }));
    case "broken tool":
      return void (await turn.tool(tool, { works: false }).catch(() => undefined));
    case "file":
      return void (await turn.artifact({ name: "a.png", mimeType: "image/png", data: "png" }));
    case "confirm":
      return void (await turn.waitForInput(z.object({ sure: z.boolean().describe("Sure?") })));
    case "ask":
      return void (await turn.waitForInput(z.object({ name: z.string().describe("Your name?") })));
    case "throw":
      throw new Error("it broke");
    case "both":
      await turn.all([(one) => run(step.one, one), (two) => run(step.two, two)]);
      return undefined;
    default: {
      const never: never = step;
      return never;
    }
  }
}

test("every response of a random agent is whole, and a second reader gets the same", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (program) => {
      await using server = await TestServer.start([agentOf(program)]);
      for (let text = "go"; ; text = "yes") {
        const objects = await (await server.open(say(text, { session_id: "s" }))).all();
        checkResponse(objects);
        const again = await (await server.openUrl("/agentscope/process/sessions/s/stream")).all();
        expect(again).toEqual(objects);
        const last = lastOf(objects);
        expect(show(objects).map(({ id }) => id)).toEqual(last.output?.map(({ id }) => id));
        const isAsked = last.output?.some(({ metadata }) => metadata !== null) === true;
        if (last.status !== "completed" || !isAsked) return;
      }
    }),
    { numRuns: 50 },
  );
});
