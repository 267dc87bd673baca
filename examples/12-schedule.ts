// A schedule calls an operation at fixed times. Each time is called once: a restart neither repeats nor forgets one. The
// example has a clock of its own, which it advances by days.
import assert from "node:assert/strict";
import { createRuntime, defineAgent, memoryLog, operation } from "troupe";
import type { Runtime } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { z } from "zod";

const gardener = defineAgent({
  name: "gardener",
  purpose: "Waters the plants each morning.",
  operations: {
    water: operation({
      input: z.object({ liters: z.number() }),
      run: ({ liters }, turn) => `${liters} liters at ${turn.metadata["scheduled_at"] as string}`,
    }),
  },
  schedules: {
    morning: { cron: "0 7 * * *", timezone: "Europe/Oslo", operation: "water", input: { liters: 3 } },
  },
});

const environment = manualEnvironment({ startMs: Date.UTC(2026, 2, 27, 12) });
const log = memoryLog();
const DAY_MS = 24 * 3_600_000;

/** Starts a server for some days. `log` stays, as a data directory does. */
async function serveFor(days: number): Promise<readonly string[]> {
  const runtime = createRuntime({ agents: [gardener], environment, log: { ...log, close: async () => {} } });
  await runtime.ready();
  await environment.advance(days * DAY_MS);
  const watered = await resultsOf(runtime);
  await runtime.close();
  return watered;
}

async function resultsOf(runtime: Runtime): Promise<readonly string[]> {
  const runId = await runtime.find("gardener", "schedule-morning");
  assert(runId !== undefined);
  const { events } = await runtime.read({ kind: "run", runId, agent: "gardener" }, { after: 0 });
  return events.flatMap((text) => {
    const event = JSON.parse(text) as { readonly type: string; readonly output: string };
    return event.type === "RequestCompleted" ? [event.output] : [];
  });
}

// The clocks change on 29 March: seven o'clock in Oslo is an hour earlier in UTC.
const first = await serveFor(2);
assert.deepEqual(first, ["3 liters at 2026-03-28T06:00:00.000Z", "3 liters at 2026-03-29T05:00:00.000Z"]);

// Nothing runs for three days. Only the newest time is made up.
await environment.advance(3 * DAY_MS);
const second = await serveFor(1);
assert.deepEqual(second.slice(2), [
  "3 liters at 2026-04-01T05:00:00.000Z",
  "3 liters at 2026-04-02T05:00:00.000Z",
]);
for (const line of second) console.log(line);
