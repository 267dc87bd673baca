import { createRuntime, defineAgent, defineTool } from "troupe";
import type { Principal } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const principal = (owner: string): Principal => ({ id: owner, owner, roles: ["user"] });

test("slots of a tool go to owners in turn, and to the runs of each in turn: who has many runs holds nobody back", async () => {
  /** Who had the slot, in order; and what ends the call that has it now. */
  const served: string[] = [];
  let end = (): void => {};
  const press = defineTool({
    name: "press",
    description: "Prints one thing at a time.",
    input: z.string(),
    concurrency: 1,
    async run(who) {
      served.push(who);
      const { promise, resolve } = Promise.withResolvers<void>();
      end = resolve;
      await promise;
    },
  });
  const printer = defineAgent({
    name: "printer",
    purpose: "Prints twice.",
    async chat(who, turn) {
      await turn.all([(one) => one.tool(press, `${who} 1`), (two) => two.tool(press, `${who} 2`)]);
      return "printed";
    },
  });
  const environment = manualEnvironment({ seed: 1 });
  const runtime = createRuntime({ agents: [printer], environment });
  onTestFinished(async () => {
    const closed = runtime.close();
    await environment.idle();
    await closed;
  });
  const ask = async (owner: string, input: string): Promise<void> => {
    const asked = runtime.as(principal(owner)).process("printer", { type: "ChatRequest", input });
    await environment.idle();
    await asked;
  };
  for (let run = 0; run < 100; run += 1) await ask("many", `many-${run}`);
  await ask("few", "few");
  await ask("one", "one");
  // The first call of the first run has had its slot from the start.
  for (let call = 0; call < 12; call += 1) {
    end();
    await environment.idle();
  }
  expect(served.slice(0, 7)).toEqual([
    "many-0 1",
    "many-0 2",
    "few 1",
    "one 1",
    "many-1 1",
    "few 2",
    "one 2",
  ]);
  expect(served.slice(7, 10)).toEqual(["many-2 1", "many-3 1", "many-4 1"]);
});
