import { defineAgent, defineTool } from "troupe";
import type { Agent } from "troupe";
import { z } from "zod";
import { TestHost } from "../runtime/test-host.ts";
import type { CommitFault } from "../runtime/test-host.ts";

/** The steps of a saga. Even ones are tools with an effect outside, odd ones are asks of other actors. */
export const STEPS = 5;

/** The keys of the hotels of a trip. */
export const roomsOf = (trip: string): readonly string[] => [1, 3, 5].map((step) => `${trip}-${step}`);

/** How a saga ends: canceled while a step works or after it, failed after it, or stuck after it until its time is over. */
export const ENDS = ["canceled during", "canceled after", "failed", "timed out"] as const;

/** A saga that ends at a step. */
export interface Saga {
  readonly end: (typeof ENDS)[number];
  readonly step: number;
  readonly passive?: boolean;
  readonly commitFaults?: readonly CommitFault[];
}

/** What is done outside for the step of a trip; an attempt that is made again has the same key. */
export interface Deed {
  readonly what: "book" | "undo";
  readonly trip: string;
  readonly step: number;
  readonly key: string;
}

/** What was done outside for one trip: a provider does nothing for a key that it knows. */
export class Outside {
  readonly #booked = new Map<number, Set<string>>();
  readonly #undone = new Map<number, Set<string>>();
  /** What was booked and undone, in order. */
  readonly #done: string[] = [];

  act({ what, step, key }: Deed): void {
    if (what === "book") this.#note(this.#booked, what, step, key);
    // It cancels a booking, if there is one.
    else if (this.#booked.has(step)) this.#note(this.#undone, what, step, key);
  }

  /** What is wrong: each booking must be undone once, the newest first. */
  faults(): readonly string[] {
    const faults: string[] = [];
    for (let at = 2; at <= STEPS; at += 2) {
      const [booked, undone] = [this.#booked.get(at)?.size ?? 0, this.#undone.get(at)?.size ?? 0];
      if (booked > 1 || undone !== booked)
        faults.push(`step ${at} was booked ${booked} times and undone ${undone}`);
    }
    const undone = this.#done.filter((what) => what.startsWith("undo")).map((what) => Number(what.slice(5)));
    if (undone.some((at, index) => index > 0 && at > (undone[index - 1] ?? 0)))
      faults.push(`the steps were undone in the order ${undone.join()}`);
    return faults;
  }

  #note(into: Map<number, Set<string>>, what: string, step: number, key: string): void {
    const keys = into.get(step) ?? new Set();
    into.set(step, keys);
    if (!keys.has(key)) this.#done.push(`${what} ${step}`);
    keys.add(key);
  }
}

const stepInput = z.object({ trip: z.string(), step: z.number() });

/** The agents of trips, each of whose steps takes a time. */
export function createTrips(act: (deed: Deed) => void, stepMs = 1_000): readonly Agent[] {
  /** A tool that does something outside, and is at work for a time. */
  const toTool = (what: Deed["what"], ms: number) =>
    defineTool({
      name: what,
      description: "Works outside.",
      input: stepInput,
      effect: "idempotent",
      async run({ trip: of, step }, turn) {
        act({ what, trip: of, step, key: turn.callId });
        await turn.sleep(ms);
        return step;
      },
    });
  const book = toTool("book", stepMs);
  const undo = toTool("undo", stepMs / 2);
  const hotel = defineAgent({
    name: "hotel",
    purpose: "Has one room.",
    memorySchema: z.object({ booked: z.number(), undone: z.number() }).default({ booked: 0, undone: 0 }),
    operations: (own) => ({
      book: own({
        input: z.object({}),
        async run(_input, turn) {
          await turn.sleep(stepMs);
          const { booked, undone } = turn.memory.get();
          turn.memory.set({ booked: booked + 1, undone });
          return null;
        },
      }),
      undo: own({
        input: z.object({}),
        run(_input, turn) {
          const { booked, undone } = turn.memory.get();
          if (booked > undone) turn.memory.set({ booked, undone: undone + 1 });
          return null;
        },
      }),
      count: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const trip = defineAgent({
    name: "trip",
    purpose: "Makes a trip.",
    operations: (own) => ({
      go: own({
        input: z.object({ end: z.enum(ENDS), step: z.number() }),
        async run({ end, step: last }, turn) {
          const { key: own = "" } = turn.self;
          for (let step = 1; step <= STEPS; step += 1) {
            if (step % 2 === 0) {
              turn.cleanup((t) => t.tool(undo, { trip: own, step }));
              await turn.tool(book, { trip: own, step });
            } else {
              const room = turn.actor(hotel, `${own}-${step}`);
              turn.cleanup((t) => t.ask(room, "undo", {}));
              await turn.ask(room, "book", {});
            }
            if (step !== last) continue;
            if (end === "failed") throw new Error("no seat");
            if (end === "timed out") await new Promise(() => {});
            if (end === "canceled after") await turn.waitForInput({ ok: "Go?" });
          }
        },
      }),
    }),
  });
  return [trip, hotel];
}

const REQUEST = "saga";

/** Runs a saga to its end, with deaths at some commits. Returns what is wrong: what was booked must be undone once. */
async function runSaga(
  saga: Saga,
): Promise<{ readonly faults: readonly string[]; readonly commits: number }> {
  const { end, step, passive = false, commitFaults = [] } = saga;
  const outside = new Outside();
  const host = new TestHost({
    agents: createTrips((deed) => outside.act(deed)),
    commitFaults,
    limits: { turnMs: 20_000, ...(passive && { idleRuns: 0 }) },
  });
  const send = async (request: Parameters<TestHost["ask"]>[1]): Promise<void> => {
    for (;;) {
      host.runtime.process("trip", request).catch(() => {});
      await host.environment.idle();
      if (!host.crashed) return;
      await host.restart();
    }
  };
  await send({
    type: "OperationRequest",
    operation: "go",
    input: { end, step },
    key: "one",
    request_id: REQUEST,
  });
  const finish = async (): Promise<boolean> => {
    if (host.crashed) await host.restart();
    // A process that dies meanwhile answers nothing.
    return (await host.log.lookup(REQUEST))?.completed !== undefined;
  };
  // A step takes a second. A cancel during one comes in its middle.
  const cancelMs = end === "canceled during" ? step * 1_000 - 500 : step * 1_000 + 500;
  const isCanceled = end.startsWith("canceled");
  let left = isCanceled ? cancelMs : 0;
  for (; left > 0 && !host.crashed; left -= 250) await host.environment.advance(250);
  if (isCanceled) await send({ type: "CancelRequest", request_id: REQUEST });
  for (let tries = 0; tries < 300 && !(await finish()); tries += 1) await host.environment.advance(500);
  await host.environment.idle();
  // The deaths that have not come yet come no more.
  await host.restart();
  while (host.crashed) await host.restart();
  const faults: string[] = [];
  const last = (await host.events(REQUEST)).at(-1);
  if (last?.type !== "RequestCompleted") faults.push(`it has not ended: ${JSON.stringify(last)}`);
  else {
    const reason = isCanceled ? "canceled" : "error";
    if (last.finish_reason !== reason || last.cleanup_errors) faults.push(JSON.stringify(last));
  }
  faults.push(...outside.faults());
  for (const key of roomsOf("one")) {
    const { event } = await host.ask("hotel", {
      type: "OperationRequest",
      operation: "count",
      input: {},
      key,
    });
    const { output } = JSON.parse(event ?? "{}") as { readonly output?: { booked: number; undone: number } };
    const { booked = -1, undone = -1 } = output ?? {};
    if (booked !== undone || booked > 1)
      faults.push(`room ${key} was booked ${booked} times and undone ${undone}`);
  }
  return { faults: faults.map((fault) => `${JSON.stringify(saga)}: ${fault}`), commits: host.commits };
}

/** All sagas, each with a death at every `every`th commit. */
export async function runSagas(
  every: number,
): Promise<{ readonly faults: readonly string[]; readonly deaths: number }> {
  const faults: string[] = [];
  let deaths = 0;
  const sagas = ENDS.flatMap((end) =>
    Array.from({ length: STEPS * 2 }, (_, index): Saga => ({
      end,
      step: 1 + (index >> 1),
      passive: index % 2 === 1,
    })),
  );
  for (const [offset, saga] of sagas.entries()) {
    const { faults: found, commits } = await runSaga(saga);
    faults.push(...found);
    for (let commit = 1 + (offset % every); commit <= commits; commit += every)
      for (const commitFaults of [deathsAt(commit, false), deathsAt(commit, true)]) {
        deaths += commitFaults.length;
        faults.push(...(await runSaga({ ...saga, commitFaults })).faults);
      }
  }
  return { faults, deaths };
}

/** A death at a commit; every other process dies again soon after. */
function deathsAt(commit: number, written: boolean): readonly CommitFault[] {
  const death = { commit, kind: "crash", written } as const;
  return commit % 2 === 1 ? [death] : [death, { commit: commit + 3, kind: "crash", written: !written }];
}
