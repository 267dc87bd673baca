// Agents that mostly wait: for room in a full mailbox, for an answer, for a slow tool, for a time.
import { setTimeout as pause } from "node:timers/promises";
import { AgentError, defineAgent, operation } from "troupe";
import type { Turn } from "troupe";
import { z } from "zod";

/** Reads its messages one after the other, so slowly that its mailbox is full most of the time. */
export const reader = defineAgent({
  name: "reader",
  purpose: "Reads notes slowly, as many as it is told.",
  messages: { note: z.string() },
  operations: {
    read: operation({
      description: "Reads so many notes.",
      input: z.object({ notes: z.number() }),
      async run({ notes }, turn) {
        for (let read = 0; read < notes; read += 1) {
          await turn.receive("note");
          await turn.sleep(30);
        }
        return notes;
      },
    }),
    wait: operation({
      description: "Answers after so many milliseconds.",
      input: z.object({ ms: z.number() }),
      async run({ ms }, turn) {
        await turn.sleep(ms);
        return ms;
      },
    }),
  },
});

export const teller = defineAgent({
  name: "teller",
  purpose: "Tells the reader one note after the other; waits for room each time.",
  async chat(input, turn) {
    for (let told = 0; told < Number(input); told += 1)
      await untilDone(() => turn.tell(turn.actor(reader, "desk"), "note", `${told}`));
  },
});

export const asker = defineAgent({
  name: "asker",
  purpose: "Asks an actor that answers late.",
  async chat(input, turn) {
    await turn.ask(turn.actor(reader, input), "wait", { ms: 4_000 });
  },
});

export const worker = defineAgent({
  name: "worker",
  purpose: "Uses a slow tool that may be repeated.",
  chat: (input, turn) => untilDone(() => work(turn, Number(input))),
});

export const napper = defineAgent({
  name: "napper",
  purpose: "Sleeps again and again, for a short time.",
  async chat(_input, turn) {
    for (let nap = 0; nap < 4; nap += 1) await turn.sleep(1_000);
  },
});

/** Ends the process as somebody else would. */
export const deadly = defineAgent({
  name: "deadly",
  purpose: "Kills the process soon after it runs.",
  async chat() {
    await pause(20);
    process.kill(process.pid, "SIGKILL");
    await new Promise<void>(() => {});
  },
});

async function work(turn: Turn, ms: number): Promise<string> {
  await turn.effect("work", () => pause(ms), { effect: "idempotent" });
  return "done";
}

/** Repeats a call that was refused or interrupted, which is no failure of the turn. */
async function untilDone<Result>(call: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof AgentError) || error.callId === undefined) throw error;
    }
  }
}
