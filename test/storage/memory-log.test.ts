import { expect, test } from "vitest";
import { memoryLog } from "../../src/storage/memory/log.ts";
import type { MemoryLog } from "../../src/storage/memory/log.ts";
import { testEventLog } from "../../src/testing/event-log/test-event-log.ts";
import { events, nextEvents, asRunId } from "../../src/testing/event-log/subject.ts";

testEventLog({
  name: "memory",
  open: async () => memoryLog(),
  reopen: async (log) => (log as MemoryLog).reopen(),
  join: async (log) => (log as MemoryLog).openNode(crypto.randomUUID()),
});

test("an append and a read are answered at once", async () => {
  const log = memoryLog();
  const { cursor } = await log.claim(asRunId("run"));
  expect(log.append(cursor, nextEvents(cursor, 2))).toMatchObject({ head: 2 });
  expect(log.read(asRunId("run"), { after: 0 })).toMatchObject({ events: events(1, 2) });
  await log.close();
});
