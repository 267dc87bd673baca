import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import type { RunId } from "../../src/protocol/ids.ts";
import { notebook } from "../../agents/notebook.ts";

const runtime = createRuntime({ agents: [notebook], log: memoryLog() });
afterAll(() => runtime.close());

describe("notebook", () => {
  test("lists all notes of its run, the oldest first", async () => {
    const first = await collect(runtime, "notebook", { type: "ChatRequest", input: "buy milk" });
    expect(first.at(-1)).toMatchObject({ result: "1. buy milk" });

    const run_id = first[0]?.run_id as RunId;
    await collect(runtime, "notebook", { type: "ChatRequest", input: "call Ada", run_id });
    const third = await collect(runtime, "notebook", { type: "ChatRequest", input: "", run_id });
    expect(third.at(-1)).toMatchObject({ result: "1. buy milk\n2. call Ada\n3. " });
  });

  test("starts each run with no notes", async () => {
    const runs = await Promise.all(
      ["a", "b"].map((input) => collect(runtime, "notebook", { type: "ChatRequest", input })),
    );
    expect(runs.map((events) => events.at(-1))).toMatchObject([{ result: "1. a" }, { result: "1. b" }]);
  });
});
