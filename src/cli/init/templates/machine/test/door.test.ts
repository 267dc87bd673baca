import assert from "node:assert/strict";
import { test } from "node:test";
import { createRuntime } from "troupe";
import { collect } from "troupe/testing";
import { door } from "../agents/door.ts";

test("the door opens once a human allows it", async () => {
  const runtime = createRuntime({ agents: [door] });

  const ring = {
    type: "OperationRequest",
    operation: "ring",
    input: { visitor: "Ada" },
    request_id: "ring-1",
  } as const;
  const asked = await collect(runtime, "door", ring);
  assert.equal(asked.at(-1)?.type, "WaitForInput");

  const answer = { type: "ResumeWithInput", request_id: "ring-1", request_keys: { allowed: true } } as const;
  const opened = await collect(runtime, "door", answer);
  await runtime.close();

  const end = opened.at(-1);
  assert(end?.type === "RequestCompleted");
  assert.deepEqual(end.output, { opened: true });
});
