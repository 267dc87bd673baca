/** @module-tag long */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "troupe/client";
import type { Event } from "troupe/protocol";
import { expect, test } from "vitest";
import { ServerProcess } from "../../flows/server.ts";

const PROGRAM = fileURLToPath(new URL("server.ts", import.meta.url));

/** The events of a run, in order. */
async function read(url: string, runId: string): Promise<readonly Event[]> {
  const all: Event[] = [];
  for await (const event of createClient(url).run(runId).events({ soFar: true })) all.push(event);
  return all;
}

/** Waits until a run has an event of a type for the number-th time. */
async function until(url: string, runId: string, type: Event["type"], number: number): Promise<void> {
  let seen = 0;
  for await (const event of createClient(url).run(runId).follow({ after: 0 }))
    if (event.type === "events")
      for (const one of event.events) {
        if (one.type === type) seen += 1;
        if (seen === number) return;
      }
}

test("a restart and a stop of a supervisor survive kills of the process: each try once, and stopped until it is resumed", async () => {
  await using server = await ServerProcess.create(PROGRAM);
  let url = await server.start();
  const asks = (): ReturnType<typeof createClient> => createClient(url);
  await asks().agent("boss").actor("b").call("watch", {});
  const failing = asks().agent("worker").actor("w").call("work", {}, { requestId: "work-1" });
  failing.then(undefined, () => {});
  const runId = await failing.runId;

  // Killed in the first pause, and in the second one.
  await until(url, runId, "RequestRestarted", 1);
  await server.kill();
  url = await server.start();
  await until(url, runId, "RequestRestarted", 2);
  await server.kill();
  url = await server.start();
  await until(url, runId, "ActorStopped", 1);
  await server.kill();
  url = await server.start();

  const events = await read(url, runId);
  const count = (type: Event["type"]): number => events.filter((event) => event.type === type).length;
  expect([count("RequestStarted"), count("RequestRestarted"), count("RequestCompleted")]).toEqual([1, 2, 1]);
  expect(events.find(({ type }) => type === "RequestCompleted")).toMatchObject({
    finish_reason: "error",
    error: { message: "the tool is broken" },
  });
  const refused = asks().agent("worker").actor("w").call("work", {});
  await expect(refused).rejects.toMatchObject({ code: "stopped" });

  await writeFile(join(server.directory, "mended"), "");
  await asks().run(runId).resume();
  await server.kill();
  url = await server.start();
  await expect(asks().agent("worker").actor("w").call("work", {})).resolves.toBe("done");
  // Of the tries that failed nothing is left in the memory.
  await expect(asks().agent("worker").actor("w").call("done", {})).resolves.toBe(1);
});
