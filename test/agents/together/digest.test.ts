import { createRuntime } from "troupe";
import type { Event } from "troupe/protocol";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { digest } from "../../../agents/digest.ts";
import { ofType, textsOf } from "../events.ts";

const DAY_MS = 24 * 3_600_000;

test("digest sends its notes once, each morning", async () => {
  const environment = manualEnvironment({ startMs: Date.UTC(2026, 5, 1, 12) });
  const runtime = createRuntime({ agents: [digest], environment });
  await runtime.ready();
  for (const body of ["buy milk", "call Ada"])
    await runtime.process("digest", { type: "Message", name: "note", body, key: "schedule-digest" });
  await environment.advance(2 * DAY_MS);

  const runId = (await runtime.find("digest", "schedule-digest")) ?? "";
  const { events } = await runtime.read({ kind: "run", runId, agent: "digest" }, { after: 0 });
  const all = events.map((text) => JSON.parse(text) as Event);
  expect(textsOf(all)).toEqual([
    "Digest of 2026-06-02T06:00:00.000Z: \n",
    "- buy milk\n",
    "- call Ada\n",
    "Digest of 2026-06-03T06:00:00.000Z: no notes\n",
  ]);
  expect(ofType(all, "RequestCompleted").map(({ output }) => output)).toEqual([{ notes: 2 }, { notes: 0 }]);
  await runtime.close();
});

test("digest can also be asked", async () => {
  const runtime = createRuntime({ agents: [digest], environment: manualEnvironment() });
  const events = await collect(runtime, "digest", { type: "OperationRequest", operation: "send", input: {} });
  expect(events.at(-1)).toMatchObject({ output: { notes: 0 } });
  await runtime.close();
});
