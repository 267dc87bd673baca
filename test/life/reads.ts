import { setTimeout as pause } from "node:timers/promises";
import { createRuntime, defineAgent, operation } from "troupe";
import type { Agent, EventLog, Runtime } from "troupe";
import { z } from "zod";

/** What reading an actor costs, in milliseconds, beside the ask of one that is idle. */
export interface ReadTimes {
  readonly askMs: number;
  /** By what the actor does meanwhile. */
  readonly readMs: { readonly [does: string]: number };
  readonly faults: readonly string[];
}

const nothing = z.object({});

/** An actor that works until it is told to stop, and one that asks a person; the code of another version asks something else. */
function keeper(isOther: boolean): Agent {
  return defineAgent({
    name: "keeper",
    purpose: "Is read while it does something.",
    messages: { stop: z.null() },
    operations: {
      idle: operation({ input: nothing, run: () => null }),
      works: operation({
        input: nothing,
        // It is never suspended: its time does not stop.
        run: () => pause(600_000, undefined, { ref: false }),
      }),
      waits: operation({
        input: nothing,
        async run(_input, turn) {
          if (isOther) await turn.text("Other code.");
          return turn.waitForInput({ ok: "Is it right?" });
        },
      }),
      look: operation({ read: true, input: nothing, run: (_input, turn) => turn.memory.get() ?? null }),
    },
  });
}

/** Reads an actor many times: while it works, while it waits for a person, and while its turn is held. */
export async function readBeside(open: () => EventLog, times: number): Promise<ReadTimes> {
  const faults: string[] = [];
  const readMs: Record<string, number> = {};
  const before = keeper(false);
  const log = open();
  const runtime = createRuntime({ agents: [before], log });
  await runtime.ask(before, "idle" as never, {}, { key: "idle" });
  const askMs = await median(times, () => runtime.ask(before, "idle" as never, {}, { key: "idle" }));
  const read = async (host: Runtime, of: EventLog, agent: Agent, key: string, does = key): Promise<void> => {
    const runId = (await host.find("keeper", key)) ?? "";
    while ((await of.run(runId))?.status !== STATUS[does]) await pause(10);
    const all = async () => JSON.stringify(await of.read(runId, { after: 0, records: true }));
    const unread = await all();
    readMs[does] = await median(times, () => host.ask(agent, "look" as never, {}, { key }));
    if ((await all()) !== unread) faults.push(`reading an actor that ${does} changes its log`);
  };
  for (const name of ["works", "waits"]) {
    await runtime.process("keeper", { type: "OperationRequest", operation: name, input: {}, key: name });
    await read(runtime, log, before, name);
  }
  await runtime.close();

  const after = keeper(true);
  const next = open();
  const restarted = createRuntime({ agents: [after], log: next });
  await restarted.process("keeper", { type: "ResumeWithInput", key: "waits", request_keys: { ok: true } });
  await read(restarted, next, after, "waits", "is held");
  await restarted.close();
  return { askMs, readMs, faults };
}

/** The status of an actor by what it does. */
const STATUS: { readonly [does: string]: string } = { works: "running", waits: "waiting", "is held": "held" };

/** The time that half of the attempts take at most, in milliseconds. */
async function median(times: number, attempt: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let made = 0; made < times; made += 1) {
    const begun = performance.now();
    await attempt();
    taken.push(performance.now() - begun);
  }
  return taken.toSorted((one, other) => one - other)[Math.floor(times / 2)] ?? 0;
}
