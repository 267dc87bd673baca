/** @module-tag long */
import { createClient, createScheduleClient } from "troupe/client";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { ServerProcess } from "../../flows/server.ts";

const KILLS = Number(process.env["SCHEDULE_KILLS"] ?? 5);

test(`over ${KILLS} kills of the server, each time of a schedule is one turn, and none of its kills ends it`, async () => {
  await using server = await ServerProcess.create();
  let url = await server.start();
  const made = await createScheduleClient(url).make("echo", {
    key: "beat",
    operation: "chat",
    input: { input: "tick" },
    every_ms: 100,
  });
  const idsOf = async (type: Event["type"]): Promise<readonly string[]> => {
    const ids: string[] = [];
    for await (const event of createClient(url).run(made.run_id).events({ soFar: true }))
      if (event.type === type) ids.push(String(event.request_id));
    return ids;
  };
  for (let kills = 0; kills < KILLS; kills += 1) {
    const before = (await idsOf("RequestStarted")).length;
    await expect.poll(async () => (await idsOf("RequestStarted")).length).toBeGreaterThan(before + 2);
    url = await server.restart();
    const [listed] = (await createScheduleClient(url).list({ runId: made.run_id })).schedules;
    expect(listed).toMatchObject({ id: made.id, key: "beat", every_ms: 100, paused: false });
  }
  await createScheduleClient(url).change(made, "pause");
  await expect
    .poll(async () => (await idsOf("RequestCompleted")).length)
    .toBe((await idsOf("RequestStarted")).length);
  const started = await idsOf("RequestStarted");
  expect(new Set(started).size).toBe(started.length);
  expect(new Set(await idsOf("RequestCompleted"))).toEqual(new Set(started));
});
