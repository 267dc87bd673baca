import { expect, test } from "vitest";
import { toCase } from "../../src/eval/case.ts";
import { evaluate } from "../../src/eval/evaluate.ts";
import { createDesk, recordDesk } from "./desk.ts";

test("conversations with approvals and errors of tools are replayed without a model", async () => {
  const { runtime, runIds } = await recordDesk(100);
  let asked = 0;
  const agents = [createDesk({ asked: () => (asked += 1) })];
  const cases = await Promise.all(runIds.map(async (id) => toCase(await runtime.inspection.recording(id as never))));
  const report = await evaluate({ name: "refunds", cases, agents, models: false });
  console.log(report.elapsed_ms, report.scores, report.cases[1], report.cases[3]);
  expect(report).toMatchObject({ equal: 100, incomplete: 0, asked: 0, spent: 0 });
  expect(asked).toBe(0);
  const r2 = await evaluate({ name: "refunds", cases, agents: [createDesk({ instructions: "x" })], models: false });
  console.log(r2.elapsed_ms, r2.scores, r2.cases[1], r2.cases[3]);
  const r3 = await evaluate({ name: "refunds", cases, agents: [createDesk({ instructions: "x" })] });
  console.log(r3.elapsed_ms, r3.scores, r3.cases[1], r3.cases[3]);
  const r4 = await evaluate({ name: "refunds", cases, agents: [createDesk({ refundDescription: "x" })] });
  console.log(r4.elapsed_ms, r4.scores, r4.cases[1], r4.cases[3]);
  await runtime.close();
});
