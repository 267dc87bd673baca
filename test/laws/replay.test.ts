import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import type { CommitFault } from "../runtime/test-host.ts";
import type { History } from "./history.ts";
import { compareWithPrograms, mustDiverge } from "./checks/verify-turn.ts";
import { simulate } from "./simulate.ts";
import type { Report, Simulation, Turn } from "./simulate.ts";
import { runsLong } from "../machine/long.ts";

/** The number of programs per law, and the first seed; a failure names its seed. */
const SEEDS = Number(process.env["TROUPE_LAW_SEEDS"] ?? (runsLong ? 40 : 4));
const FROM = Number(process.env["TROUPE_LAW_FROM"] ?? 1);
const seeds = Array.from({ length: SEEDS }, (_, index) => FROM + index);
const TIMEOUT_MS = 300_000 + SEEDS * 2_000;

/** A crash at a commit, then another one a few commits after the restart, and a third. */
function crashesAt(commit: number, seed: number): readonly CommitFault[] {
  const written = seed % 2 === 0;
  const second = commit + 1 + (seed % 4);
  return [
    { commit, kind: "crash", written },
    { commit: second, kind: "crash", written: seed % 3 === 0 },
    { commit: second + 2 + (seed % 7), kind: "crash", written: !written },
  ];
}

/**
 * The same for a turn that leaves memory: two crashes, because its wake-up counts as a continuation, and a turn may be
 * continued three times without progress.
 */
function crashesOfPassive(commit: number, seed: number): readonly CommitFault[] {
  return crashesAt(commit, seed).slice(0, 2);
}

/** The interval of crash commits, so that each program is crashed at about the same number of points. */
function placesIn({ commits }: Report, seed: number, count: number): readonly number[] {
  const step = Math.max(commits / count, 1);
  const places: number[] = [];
  for (let place = 1 + (seed % step); place <= commits; place += step) places.push(Math.floor(place));
  return places;
}

async function faultsOf(simulation: Simulation): Promise<readonly string[]> {
  try {
    const { faults } = await simulate(simulation);
    return faults.map((fault) => `${JSON.stringify(simulation)}: ${fault}`);
  } catch (error) {
    return [`${JSON.stringify(simulation)}: ${error instanceof Error ? (error.stack ?? "") : ""}`];
  }
}

test(
  "a turn that is crashed at any point, and crashed again, ends as its code says",
  { tags: "long", timeout: TIMEOUT_MS },
  async () => {
    const faults: string[] = [];
    for (const seed of seeds) {
      const plain = await simulate({ seed });
      faults.push(...(await faultsOf({ seed })));
      for (const commit of placesIn(plain, seed, 6))
        faults.push(...(await faultsOf({ seed, commitFaults: crashesAt(commit, seed + commit) })));
    }
    expect(faults).toEqual([]);
  },
);

test(
  "a turn whose texts gather ends as its code says, also if it crashes",
  { timeout: TIMEOUT_MS },
  async () => {
    const faults: string[] = [];
    for (const seed of seeds) {
      const plain = await simulate({ seed, gathers: true });
      faults.push(...(await faultsOf({ seed, gathers: true })));
      for (const commit of placesIn(plain, seed, 3))
        faults.push(
          ...(await faultsOf({ seed, gathers: true, commitFaults: crashesAt(commit, seed + commit) })),
        );
    }
    expect(faults).toEqual([]);
  },
);

/** Short programs that ask and tell, one for twenty seeds. */
async function* shortPrograms(): AsyncGenerator<readonly [seed: number, commits: number], void> {
  let left = Math.ceil(SEEDS / 20);
  for (let seed = FROM; left > 0; seed += 1) {
    const { commits, turns } = await simulate({ seed });
    const sent = turns.reduce((sum, { history }) => sum + history.sent.size, 0);
    if (commits > 60 || sent < 2) continue;
    left -= 1;
    yield [seed, commits];
  }
}

test(
  "turns that ask and tell end as their code says, whichever commit of any run the process dies at",
  { tags: "long", timeout: TIMEOUT_MS },
  async () => {
    const faults: string[] = [];
    for await (const [seed, commits] of shortPrograms()) {
      for (let commit = 1; commit <= commits; commit += 1) {
        for (const written of [false, true])
          faults.push(...(await faultsOf({ seed, commitFaults: [{ commit, kind: "crash", written }] })));
      }
    }
    expect(faults).toEqual([]);
  },
);

test("a turn that leaves memory at every wait ends as its code says", { timeout: TIMEOUT_MS }, async () => {
  const faults: string[] = [];
  for (const seed of seeds) {
    faults.push(...(await faultsOf({ seed, passive: true })));
    faults.push(
      ...(await faultsOf({ seed, passive: true, commitFaults: crashesOfPassive(3 + (seed % 20), seed) })),
    );
  }
  expect(faults).toEqual([]);
});

test(
  "a turn that is canceled at any point ends there, after its open calls",
  { timeout: TIMEOUT_MS },
  async () => {
    const faults: string[] = [];
    for (const seed of seeds) {
      const cancelAfter = 1 + (seed % 6);
      faults.push(...(await faultsOf({ seed, cancelAfter })));
      faults.push(
        ...(await faultsOf({
          seed,
          cancelAfter,
          passive: true,
          commitFaults: crashesOfPassive(2 + (seed % 15), seed),
        })),
      );
    }
    expect(faults).toEqual([]);
  },
);

test(
  "a turn whose code was changed after a crash is held exactly if it takes another path, and goes on when the change is undone",
  { tags: "long", timeout: TIMEOUT_MS },
  async () => {
    const faults: string[] = [];
    const seen = { diverged: 0, same: 0 };
    for (const seed of seeds) {
      const plain = await simulate({ seed });
      for (const commit of placesIn(plain, seed, 5)) {
        const simulation = {
          seed,
          mutated: true,
          commitFaults: crashesAt(commit, seed + commit).slice(0, 1),
        };
        const { faults: found, turns } = await simulate(simulation);
        const [turn] = turns.filter(({ before }) => before !== undefined);
        const end = turn?.history.events.at(-1);
        if (turn?.before === undefined || end?.type !== "RequestCompleted") continue;
        // The process died right after the end.
        if (turn.before.events.at(-1)?.type === "RequestCompleted") continue;
        const isFoundOut = turn.held !== undefined;
        // Code below a call whose deadline has passed does not run again.
        const isLate = [...turn.before.calls.keys()].some(
          (callId) =>
            !turn.before?.outcomes.has(callId) && turn.history.outcomes.get(callId)?.code === "timeout",
        );
        const must = isLate ? undefined : mustDiverge(turn.changed ?? turn.programs, turn.before, turn.kept);
        if (must !== undefined && must !== isFoundOut)
          faults.push(
            `${JSON.stringify(simulation)}: ${must ? "was not found out" : JSON.stringify(turn.held?.events.at(-1))}`,
          );
        const misfit = turn.check?.misfits.find(({ agent }) => agent === "root");
        if (!isLate && isFoundOut !== (misfit?.outcome === "held"))
          faults.push(
            `${JSON.stringify(simulation)}: ${isFoundOut ? "held" : "not held"}, and the check said ${JSON.stringify(misfit)}`,
          );
        if (turn.held)
          faults.push(
            ...checkHeld(turn, turn.before, turn.held).map(
              (what) => `${JSON.stringify(simulation)}: ${what}`,
            ),
          );
        if (!isFoundOut) faults.push(...found);
        seen[isFoundOut ? "diverged" : "same"] += 1;
      }
    }
    expect(faults).toEqual([]);
    expect(seen.diverged).toBeGreaterThan(SEEDS / 4);
    expect(seen.same).toBeGreaterThan(SEEDS / 4);
  },
);

/** Whether changed code left only the reason in the log, and the turn ended as if its code had never been changed. */
function checkHeld({ programs, history, kept }: Turn, before: History, held: History): readonly string[] {
  const faults: string[] = [];
  const left = held.events.slice(before.events.length);
  const reason = left.find((event) => event.type === "RequestHeld");
  if (!/^on replay, c\S+ did: .+; the log has: .+/s.test(reason?.message ?? ""))
    faults.push(`the reason is: ${JSON.stringify(reason)}`);
  const isFromActor = (event: Event): boolean =>
    (event.type === "ToolResult" || event.type === "ToolError") && event.function_name.startsWith("actor.");
  const done = left.filter((event) => !HARMLESS.has(event.type) && !isFromActor(event));
  if (done.length > 0) faults.push(`changed code did: ${JSON.stringify(done)}`);
  faults.push(...compareWithPrograms(programs, history, kept));
  return faults;
}

/** What can be in the log after code that was found out, besides answers of actors: the reason, and what came from outside. */
const HARMLESS: ReadonlySet<string> = new Set(["RequestHeld", "ResumeWithInput", "MessageReceived"]);
