// Agents that end the process, and one that only works.
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { defineAgent } from "troupe";
import type { Turn } from "troupe";

/** Ends the process after a number of milliseconds, inside an effect or beside it. */
export const deadly = defineAgent({
  name: "deadly",
  purpose:
    "Ends the process: `exit 20` or `kill 20` after 20 ms, `effect 20` in an effect that may be repeated.",
  async chat(input, turn) {
    const [way = "", ms = ""] = input.split(" ");
    const end = async (): Promise<void> => {
      await pause(Number(ms));
      if (way === "kill") process.kill(process.pid, "SIGKILL");
      process.exit(1);
    };
    if (way === "effect") await turn.effect("end", end, { effect: "idempotent" });
    else await end();
  },
});

/** Has a worker thread run out of memory: the error that Node throws for that cannot be traced to the turn. */
export const untraceable = defineAgent({
  name: "untraceable",
  purpose: "Causes an error that no turn can be found for.",
  async chat() {
    const worker = new Worker("const all = []; for (;;) all.push(new Array(1e6).fill(1));", {
      eval: true,
      resourceLimits: { maxOldGenerationSizeMb: 16 },
    });
    worker.unref();
    await new Promise(() => {});
  },
});

/** An idempotent effect that takes as many milliseconds as the input says. */
export const innocent = defineAgent({
  name: "innocent",
  purpose: "Works for a while.",
  chat: (input, turn) => work(turn, Number(input)),
});

async function work(turn: Turn, ms: number): Promise<string> {
  await turn.effect("work", () => pause(ms), { effect: "idempotent" });
  return "done";
}
