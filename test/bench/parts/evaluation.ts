import type { RunId } from "troupe";
import { evaluate, formatCases, parseCases, toCase } from "troupe/eval";
import { createDesk, recordDesk } from "../../eval/desk.ts";
import { atMost, ms } from "../harness/result.ts";
import type { Result } from "../harness/result.ts";
import type { Setup } from "../harness/setup.ts";

const CONVERSATIONS = 1_000;

/** The time in which recorded conversations, with approvals and errors of tools, are done again without a model. */
export async function measureEvaluation({ isQuick }: Setup): Promise<Result[]> {
  const count = isQuick ? CONVERSATIONS / 10 : CONVERSATIONS;
  const { runtime, runIds } = await recordDesk(count);
  const recorded = await Promise.all(
    runIds.map(async (id) => toCase(await runtime.inspection.recording(id as RunId))),
  );
  await runtime.close();
  const cases = parseCases(formatCases(recorded));
  const report = await evaluate({ name: "desk", cases, agents: [createDesk()], models: false });
  if (report.equal !== count || report.asked !== 0)
    throw new Error(
      `${report.equal} of ${count} ended as recorded, and ${report.asked} completions were asked`,
    );
  return [atMost(`an evaluation of ${count} conversations`, report.elapsed_ms, count * 30, ms)];
}
