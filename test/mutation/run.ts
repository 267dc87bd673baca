// Puts small faults into the rooms that hold promises, one at a time, and lists those that no test of the room notices:
// npm run test:mutants [-- --room replay --count 10 --seed 1]
// npm run test:mutants -- --room placement --at src/cluster/takeover.ts:65 (all mutants of a line)
import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "../../src/testing/event-log/random.ts";
import { equivalents } from "./equivalents.ts";
import { mutantsOf } from "./mutants.ts";
import type { Mutant } from "./mutants.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The tests of nodes in one process. A mutant is not in the processes that other tests start. */
const NODES =
  "test/cluster/{cluster-router,cluster,deadly-turns,membership,recent-answers,stalled-engine,stepped-clock,takeover,versions}.test.ts";

/** The sources of each room, and the tests that must notice a fault in them. */
const ROOMS: Readonly<
  Record<string, { readonly sources: readonly string[]; readonly tests: readonly string[] }>
> = {
  run: {
    sources: ["src/runtime/run/*.ts", "src/runtime/activation/*.ts"],
    tests: [
      "test/runtime/run",
      "test/runtime/activation",
      "test/runtime/supervision",
      "test/runtime/messages",
      "test/runtime/actors",
      "test/runtime/artifacts",
      "test/runtime/machine",
      "test/runtime/limits.test.ts",
    ],
  },
  replay: {
    sources: ["src/runtime/replay/*.ts"],
    tests: ["test/runtime", "test/laws", "test/llm/prompts.test.ts"],
  },
  journal: { sources: ["src/runtime/journal/*.ts"], tests: ["test/runtime", "test/laws"] },
  calls: {
    sources: ["src/runtime/calls/*.ts", "src/runtime/scheduler/*.ts"],
    tests: ["test/runtime", "test/laws"],
  },
  outbox: {
    sources: ["src/runtime/run/outbox.ts", "src/runtime/commands/mail.ts", "src/runtime/turn/open-asks.ts"],
    tests: ["test/runtime/actors", "test/runtime/messages", "test/runtime/supervision", "test/laws"],
  },
  placement: {
    sources: [
      "src/cluster/placement.ts",
      "src/cluster/membership.ts",
      "src/cluster/node-rows.ts",
      "src/cluster/suspicion.ts",
      "src/cluster/takeover.ts",
    ],
    tests: [NODES],
  },
  claims: {
    sources: ["src/storage/memory/*.ts"],
    tests: ["test/storage/memory-log.test.ts", NODES],
  },
  reconnect: {
    sources: ["src/client/stream/*.ts", "src/client/wire/retry.ts"],
    tests: ["test/client"],
  },
};

const { values } = parseArgs({
  options: {
    room: { type: "string", multiple: true, default: Object.keys(ROOMS) },
    count: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
    at: { type: "string", multiple: true },
  },
});

const random = createRandom(Number(values.seed));
let survived = 0;
await checkReach();
for (const name of values.room) {
  const room = ROOMS[name];
  if (room === undefined)
    throw new Error(`there is no room ${name}; the rooms: ${Object.keys(ROOMS).join(", ")}`);
  const tests = globSync([...room.tests], { cwd: ROOT });
  const mutants = globSync([...room.sources], { cwd: ROOT })
    .toSorted()
    .flatMap((file) => mutantsOf(file, readFileSync(join(ROOT, file), "utf8")));
  const startedAt = performance.now();
  if (!(await pass(tests, undefined, Infinity))) throw new Error(`the tests of ${name} fail without a fault`);
  const limitMs = 30_000 + 5 * (performance.now() - startedAt);
  const { at } = values;
  const picked = at
    ? mutants.filter(({ file, line }) => at.includes(`${file}:${line}`))
    : pick(mutants, Number(values.count));
  let alive = 0;
  for (const mutant of picked) {
    if (!(await pass(tests, mutant, limitMs))) continue;
    const why = equivalents.find(({ file, code, instead, within = "" }) => {
      const isSame = file === mutant.file && code === mutant.code && instead === mutant.instead;
      return isSame && lineOf(mutant).includes(within);
    })?.why;
    console.log(
      `${mutant.file}:${mutant.line} ${mutant.code} → ${mutant.instead}${why ? ` (judged: ${why})` : ""}`,
    );
    if (why === undefined) alive += 1;
  }
  survived += alive;
  console.log(
    `${name}: ${picked.length} of ${mutants.length} mutants, ${alive} of them alive and not judged`,
  );
}
process.exitCode = survived > 0 ? 1 : 0;

/** Throws if a mutant does not reach the tests: then all of them would seem to survive. */
async function checkReach(): Promise<void> {
  const broken: Mutant = {
    file: "src/runtime/journal/call-id.ts",
    line: 1,
    start: 0,
    end: 0,
    code: "",
    instead: "!",
  };
  if (await pass(["test/runtime/journal"], broken, 120_000))
    throw new Error("the tests do not notice a broken file");
}

/** Some mutants, in a random order. */
function pick(mutants: readonly Mutant[], count: number): readonly Mutant[] {
  const left = [...mutants];
  const picked: Mutant[] = [];
  while (left.length > 0 && picked.length < count) picked.push(...left.splice(random.below(left.length), 1));
  return picked;
}

function lineOf({ file, line }: Mutant): string {
  return readFileSync(join(ROOT, file), "utf8").split("\n")[line - 1] ?? "";
}

/** Whether tests pass with a mutant, in time. */
function pass(tests: readonly string[], mutant: Mutant | undefined, limitMs: number): Promise<boolean> {
  const args = ["vitest", "run", "--config", "test/mutation/vitest.config.ts", ...tests];
  const env = { ...process.env, ...(mutant && { TROUPE_MUTANT: JSON.stringify(mutant) }) };
  const child = spawn("npx", args, { cwd: ROOT, env, stdio: "ignore", detached: true });
  return new Promise((resolve) => {
    const timer = Number.isFinite(limitMs) ? setTimeout(end, limitMs) : undefined;
    child.once("exit", (code) => {
      clearTimeout(timer);
      resolve(code === 0);
    });
  });

  function end(): void {
    // The child leads a group of its own, with its workers.
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  }
}
