import { createRuntime, memoryArtifacts, memoryLog } from "troupe";
import type { Runtime } from "troupe";
import { manualEnvironment } from "troupe/testing";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import type { EventLog } from "../../../src/ports/event-log.ts";
import { memorySecrets } from "../../../src/storage/memory/secrets.ts";
import { createRandom } from "../../../src/testing/event-log/random.ts";
import { toEncoded } from "../../../src/protocol/events/texts.ts";
import { Routers } from "../routers.ts";
import { scheduled } from "./agents.ts";

const NODES = 3;
const MINUTE_MS = 60_000;

interface Cluster {
  readonly runtimes: readonly Runtime[];
  readonly log: EventLog;
}

/** The events of the run of the schedule. */
async function eventsOf({ runtimes, log }: Cluster): Promise<readonly Event[]> {
  const runId = await runtimes[0]?.find("reporter", "schedule-report");
  const { events } = await log.read(runId ?? "", { after: 0, limit: 10_000 });
  return toEncoded(events).map((text) => JSON.parse(text) as Event);
}

test.each(Array.from({ length: 12 }, (_, index) => index + 1))(
  "on three nodes whose clocks step, a schedule fires once per time, and at none before it was defined (seed %i)",
  async (seed) => {
    const random = createRandom(seed);
    const environment = manualEnvironment({ seed });
    const routers = new Routers();
    const log = memoryLog();
    const offsets = Array.from({ length: NODES }, () => 0);
    const startMs = environment.now();
    const runtimes = offsets.map((_, node) =>
      createRuntime({
        agents: [scheduled({ cron: "*/10 * * * *", overlap: "queue" })],
        log,
        artifacts: memoryArtifacts(),
        secrets: memorySecrets(),
        router: routers.router(node),
        environment: { ...environment, now: () => environment.now() + (offsets[node] ?? 0) },
      }),
    );
    await environment.idle();
    for (let move = 0; move < 30; move += 1) {
      const node = random.below(NODES);
      if (random.below(3) === 0) offsets[node] = (random.below(121) - 60) * MINUTE_MS;
      if (random.below(3) === 0) routers.move(node);
      await environment.advance(random.below(15) * MINUTE_MS);
    }
    offsets.fill(0);
    await environment.advance(90 * MINUTE_MS);

    const events = await eventsOf({ runtimes, log });
    const ended = events.flatMap((event) => (event.type === "RequestCompleted" ? [event] : []));
    expect(ended.map(({ finish_reason }) => finish_reason)).toEqual(ended.map(() => "success"));
    const times = ended.map(({ output }) => Date.parse((output as string).replace("news ", "")));
    expect(new Set(times).size).toBe(times.length);
    for (const time of times) {
      expect(time % (10 * MINUTE_MS)).toBe(0);
      expect(time).toBeGreaterThan(startMs);
    }
    // With right clocks, each time is fired.
    const now = environment.now();
    const last = Array.from(
      { length: 6 },
      (_, index) => now - (now % (10 * MINUTE_MS)) - index * 10 * MINUTE_MS,
    );
    for (const time of last) expect(times).toContain(time);
  },
);
