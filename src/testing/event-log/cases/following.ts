import { describe, expect, test } from "vitest";
import type { EventLog } from "../../../ports/event-log.ts";
import { toEncoded } from "../../../protocol/events/texts.ts";
import type { RunId } from "../../../protocol/ids.ts";
import { createRandom } from "../random.ts";
import { events, nextEvents, openFor, asRunId, startRun, numbers } from "../subject.ts";
import type { EventLogSubject } from "../subject.ts";

/** Reading live: what wakes readers. */
export function testFollowing(subject: EventLogSubject): void {
  describe("following", () => {
    test("following with tail and read gives every event once and in order", async () => {
      const log = await openFor(subject);
      const random = createRandom(11);
      const batches = 80;
      let cursor = await startRun(log, "run", 1);
      const end = 1_000;
      const readers = numbers(0, 3).map((reader) => follow(log, asRunId("run"), reader % 2, end));
      for (let batch = 0; batch < batches; batch += 1) {
        cursor = await log.append(cursor, nextEvents(cursor, 1 + random.below(12)));
      }
      await log.append(cursor, nextEvents(cursor, end - cursor.head));

      const seen = await Promise.all(readers);
      for (const [reader, found] of seen.entries()) {
        expect(found).toEqual(events((reader % 2) + 1, end));
      }
    });

    test("an append can be read when its tail wakes and when it is acknowledged", async () => {
      const log = await openFor(subject);
      const cursor = await startRun(log, "run", 1);
      const woken = new Promise<number>((resolve, reject) => {
        const stop = log.tail(asRunId("run"), () => {
          stop();
          Promise.resolve(log.read(asRunId("run"), { after: 1 })).then((page) => resolve(page.head), reject);
        });
      });
      await log.append(cursor, nextEvents(cursor, 2));

      expect((await log.read(asRunId("run"), { after: 1 })).events).toEqual(events(2, 3));
      expect(await woken).toBe(3);
    });

    test("a watch wakes with the id of each run that is appended to or removed, until it ends", async () => {
      const log = await openFor(subject);
      const woken: string[] = [];
      let notify = (): void => {};
      const stop = log.watch((id) => {
        woken.push(id);
        notify();
      });
      const until = async (id: string): Promise<void> => {
        while (!woken.splice(0).includes(id)) {
          const { promise, resolve } = Promise.withResolvers<void>();
          notify = resolve;
          await promise;
        }
      };
      const one = await startRun(log, "one", 1);
      await until("one");
      const two = await startRun(log, "two", 1);
      await until("two");
      const appended = await log.append(one, nextEvents(one, 1));
      await until("one");
      expect(await log.run(asRunId("one"))).toMatchObject({ head: 2 });
      await log.remove(appended);
      await until("one");
      expect(await log.run(asRunId("one"))).toMatchObject({ removed: true });

      stop();
      const tailed = Promise.withResolvers<void>();
      log.tail(asRunId("two"), tailed.resolve);
      await log.append(two, nextEvents(two, 1));
      await tailed.promise;
      expect(woken).toEqual([]);
    });
  });
}

/** Reads until event `end`; waits for the tail when there is nothing more. */
async function follow(log: EventLog, id: RunId, after: number, end: number): Promise<readonly string[]> {
  const found: string[] = [];
  let wake = (): void => {};
  let woken = Promise.resolve();
  const arm = (): void => {
    woken = new Promise((resolve) => {
      wake = resolve;
    });
  };
  arm();
  const stop = log.tail(id, () => wake());
  while (after + found.length < end) {
    const page = await log.read(id, { after: after + found.length, limit: 7 });
    found.push(...toEncoded(page.events));
    if (after + found.length >= end) break;
    // Without this, an engine that returns an empty page would cause an endless loop.
    expect(page.events.length > 0 || page.head <= after + found.length).toBe(true);
    if (after + found.length < page.head) continue;
    await woken;
    arm();
  }
  stop();
  return found;
}
