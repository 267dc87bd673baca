// The supervision strategies of Akka's manual: death watch, restart, escalate, stop and resume.
import assert from "node:assert/strict";
import { createRuntime, defineAgent, ended } from "troupe";
import { z } from "zod";

let failures = 0;

/** Counts what it has done; fails as often as it is told. */
const child = defineAgent({
  name: "child",
  purpose: "Works, or fails.",
  memorySchema: z.number().default(0),
  operations: (own) => ({
    work: own({
      input: z.object({}),
      run(_input, turn) {
        turn.memory.set(turn.memory.get() + 1);
        failures -= 1;
        if (failures >= 0) throw new Error("the tool broke");
        return turn.memory.get();
      },
    }),
  }),
});

const restart = { attempts: 3, backoffMs: 10 };

/** Akka: `Behaviors.supervise(child).onFailure(SupervisorStrategy.restart.withLimit(…))`; then it fails itself. */
const parent = defineAgent({
  name: "parent",
  purpose: "Restarts its child, and fails with it.",
  supervise: { on: "error", restart, then: "escalate" },
  operations: (own) => ({
    ask: own({ input: z.object({}), run: (_input, turn) => turn.ask(turn.actor(child, "one"), "work", {}) }),
  }),
});

/** Akka: `context.watch(child)`, `SupervisorStrategy.stop`; `ended` is its `Terminated`. */
const guardian = defineAgent({
  name: "guardian",
  purpose: "Stops what fails.",
  supervise: { on: "error", then: "stop" },
  memorySchema: z.array(z.string()).default([]),
  operations: (own) => ({
    watch: own({
      input: z.object({}),
      run: (_input, turn) => turn.watch(turn.actor(child, "two"), { failed: true }),
    }),
    ended: own({
      input: ended,
      run({ key = "", error }, turn) {
        turn.memory.set([...turn.memory.get(), `${key}: ${error?.message ?? ""}`]);
      },
    }),
    seen: own({ input: z.object({}), run: (_input, turn) => turn.memory.get() }),
  }),
});

const runtime = createRuntime({ agents: [child, parent, guardian] });
try {
  // Restart: the request is done again, with the memory before it; its caller gets one answer.
  failures = 2;
  assert.equal(await runtime.actor(parent, "p").ask("ask", {}), 1);

  // Escalate: after the third failure the parent fails with the error of its child.
  failures = 3;
  await assert.rejects(runtime.actor(parent, "p").ask("ask", {}), /the tool broke/);

  // Death watch and stop: the child refuses requests, and its guardian is told.
  await runtime.actor(guardian, "g").ask("watch", {});
  failures = 1;
  const two = runtime.actor(child, "two");
  await assert.rejects(two.ask("work", {}), /the tool broke/);
  await assert.rejects(two.ask("work", {}), { code: "stopped" });
  let seen: readonly string[] = [];
  while (seen.length === 0) seen = await runtime.actor(guardian, "g").ask("seen", {});
  assert.deepEqual(seen, ["two: the tool broke"]);

  // Resume: a person, or a program, lets it work again.
  await runtime.resume((await two.get())?.run_id ?? "");
  assert.equal(await two.ask("work", {}), 1);
  console.log("Restarted twice, escalated once, stopped and resumed.");
} finally {
  await runtime.close();
}
