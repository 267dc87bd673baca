import { createRuntime, memoryLog } from "troupe";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import type { RequestId, RunId } from "../../../src/protocol/ids.ts";
import type { Request } from "../../../src/protocol/requests/requests.ts";
import { watchedLog } from "../watched-log.ts";

const requestId = "req_late" as RequestId;
const gone = { code: "gone" };

test("a request of a removed run is gone, and a late retry of it does not run again", async () => {
  const runtime = createRuntime({ agents: [echo], log: memoryLog() });
  const request: Request = { type: "ChatRequest", input: "once", request_id: requestId };
  const receipt = await runtime.process("echo", request);
  await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });
  const { runId } = receipt;
  if (runId === null) throw new Error("a turn has a run");
  await runtime.removeRun(runId);

  await expect(runtime.process("echo", request)).rejects.toMatchObject(gone);
  await expect(runtime.process("echo", { ...request, input: "twice" })).rejects.toMatchObject(gone);
  await expect(runtime.status(requestId)).rejects.toMatchObject(gone);
  await expect(runtime.resolve(requestId)).rejects.toMatchObject(gone);
  const cancel: Request = { type: "CancelRequest", request_id: requestId };
  await expect(runtime.process("echo", cancel)).rejects.toMatchObject(gone);
  const resume: Request = { type: "ResumeWithInput", request_id: requestId, request_keys: {} };
  await expect(runtime.process("echo", resume)).rejects.toMatchObject(gone);
  expect((await runtime.runs({ limit: 10 })).runs).toEqual([]);
  await runtime.close();
});

test.each(["cancel", "retry"])(
  "a %s that arrives while the run is removed is refused as gone",
  async (kind) => {
    let beforeRead = async (): Promise<void> => {};
    const runtime = createRuntime({ agents: [echo], log: watchedLog({ read: () => beforeRead() }) });
    const request: Request = { type: "ChatRequest", input: "once", request_id: requestId };
    const receipt = await runtime.process("echo", request);
    await runtime.acknowledgement(receipt, { until: "completed", timeoutMs: 60_000 });

    beforeRead = async () => {
      beforeRead = async () => {};
      await runtime.removeRun(receipt.runId as RunId);
    };
    const late: Request = kind === "retry" ? request : { type: "CancelRequest", request_id: requestId };
    await expect(runtime.process("echo", late)).rejects.toMatchObject(gone);
    await runtime.close();
  },
);
