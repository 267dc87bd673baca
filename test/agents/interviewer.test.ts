import { createRuntime, memoryLog } from "troupe";
import { collect } from "troupe/testing";
import { afterAll, describe, expect, test } from "vitest";
import type { Event } from "../../src/protocol/events/events.ts";
import { interviewer } from "../../agents/interviewer.ts";
import { ofType, requestOf } from "./events.ts";

const runtime = createRuntime({ agents: [interviewer], log: memoryLog() });
afterAll(() => runtime.close());

describe("interviewer", () => {
  test("asks both questions at once", async () => {
    const asked = await collect(runtime, "interviewer", { type: "ChatRequest", input: "hello" });
    expect(asked.map((event) => event.type)).toEqual(["RequestStarted", "WaitForInput", "WaitForInput"]);
    expect(ofType(asked, "WaitForInput").map((wait) => wait.request_keys)).toEqual([
      { name: "What is your name?" },
      { colour: "What is your favourite colour?" },
    ]);
  });

  test.each([
    ["first", { name: "Ada" }, { colour: "green" }],
    ["last", { colour: "green" }, { name: "Ada" }],
  ])("answers with both after the name %s", async (_, first, second) => {
    const asked = await collect(runtime, "interviewer", { type: "ChatRequest", input: "hello" });
    const request_id = requestOf(asked);
    const half = await collect(runtime, "interviewer", {
      type: "ResumeWithInput",
      request_id,
      wait_id: waitFor(asked, first),
      request_keys: first,
    });
    expect(half).toMatchObject([{ type: "ResumeWithInput", request_keys: first }]);
    expect(await runtime.status(request_id)).toMatchObject({
      status: "waiting",
      wait_id: waitFor(asked, second),
    });

    const events = await collect(runtime, "interviewer", {
      type: "ResumeWithInput",
      request_id,
      request_keys: second,
    });
    expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "Ada likes green." });
  });
});

/** The wait that has the keys of an answer. */
function waitFor(asked: readonly Event[], answer: object): number {
  const [key = ""] = Object.keys(answer);
  return ofType(asked, "WaitForInput").find((wait) => key in wait.request_keys)?.id ?? 0;
}
