import { createRuntime } from "troupe";
import { collect, manualEnvironment } from "troupe/testing";
import { expect, test } from "vitest";
import { payments } from "../../../agents/payments.ts";
import { pdfWriter } from "../../../agents/pdf-writer.ts";
import { message, reader } from "../messages/agents.ts";

const HOUR_MS = 3_600_000;

test("an idle run is removed after its time, with its files; a waiting one is kept", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [payments, pdfWriter], environment, retainMs: 10 * HOUR_MS });
  const written = await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
  const asked = await collect(runtime, "payments", { type: "ChatRequest", input: "pay 1 to bob" });
  const file = written.find((event) => event.type === "ArtifactGenerated");
  const runId = written[0]?.run_id;
  const waiting = asked[0]?.run_id;
  if (file === undefined || runId === undefined || waiting === undefined) throw new Error("both turns began");

  await environment.advance(9 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(2);
  await environment.advance(3 * HOUR_MS);

  expect((await runtime.runs({ limit: 10 })).runs.map(({ run_id }) => run_id)).toEqual([waiting]);
  await expect(runtime.resolve(runId)).rejects.toMatchObject({ code: "gone" });
  await expect(runtime.artifact(file.artifact_id)).rejects.toMatchObject({ code: "not_found" });
  await runtime.close();
});

test("above the size limit the longest idle runs are removed until the rest fits", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [payments, pdfWriter], environment, retainBytes: 100_000 });
  const asked = await collect(runtime, "payments", { type: "ChatRequest", input: "pay 1 to bob" });
  const input = `Title: ${"text ".repeat(6_000)}`;
  const runs: (string | null | undefined)[] = [];
  for (let run = 0; run < 4; run += 1) {
    await environment.advance(1_000);
    const [started] = await collect(runtime, "pdf-writer", { type: "ChatRequest", input });
    runs.push(started?.run_id);
  }
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(5);
  await environment.advance(HOUR_MS);

  const left = (await runtime.runs({ limit: 10 })).runs.map(({ run_id }) => run_id);
  expect(left).toContain(asked[0]?.run_id);
  expect(left.length).toBeGreaterThan(1);
  expect(left.slice(0, -1)).toEqual(runs.slice(1 - left.length).toReversed());
  await environment.advance(HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(left.length);
  await runtime.close();
});

test("a run with unread messages is kept until a turn has read them", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [reader], environment, retainMs: HOUR_MS });
  await runtime.process("reader", message("note", "unread"));
  await environment.advance(10 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  await runtime.process("reader", { type: "ChatRequest", input: "", key: "room" });
  await environment.advance(10 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
  await runtime.close();
});

test("without a limit nothing is removed", async () => {
  const environment = manualEnvironment();
  const runtime = createRuntime({ agents: [pdfWriter], environment });
  await collect(runtime, "pdf-writer", { type: "ChatRequest", input: "Title: text" });
  await environment.advance(10_000 * HOUR_MS);
  expect((await runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  await runtime.close();
});
