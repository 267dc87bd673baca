import { createRuntime, defineAgent, localRouter } from "troupe";
import type { Router } from "troupe";
import { collect } from "troupe/testing";
import type { Event } from "troupe/protocol";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import type { RouterHandler } from "../../../src/ports/router.ts";

const clerk = defineAgent({
  name: "clerk",
  purpose: "Says what it has heard.",
  messages: { note: z.string() },
  chat: (input, turn) => [input, ...turn.received("note")].join(" "),
});

/** A router whose messages arrive twice, or whose first copy is lost. */
function routerThat(loses: boolean): Router {
  const own = localRouter();
  let handler: RouterHandler | undefined;
  return {
    ...own,
    serve(given) {
      handler = given;
      return own.serve(given);
    },
    async send(runId, message, options) {
      if (!loses) await own.send(runId, message, options);
      if (handler === undefined) throw new Error("no message is sent before the start");
      return handler.deliver(runId, message, { isRepeated: true });
    },
  };
}

test.each([
  ["arrives twice", false],
  ["only arrives when it is repeated", true],
])("a message between nodes that %s has its effect once", async (_, loses) => {
  const runtime = createRuntime({ agents: [clerk], router: routerThat(loses) });
  onTestFinished(() => runtime.close());
  const runId = await runtime.createRun("clerk", {});
  const note = await runtime.process("clerk", {
    type: "Message",
    name: "note",
    body: "and this",
    run_id: runId,
  });
  expect(note.replayed).toBe(!loses);
  const request = { type: "ChatRequest", input: "that", run_id: runId } as const;
  expect((await collect(runtime, "clerk", request)).at(-1)).toMatchObject({ result: "that and this" });
  expect((await collect(runtime, "clerk", { ...request, input: "more" })).at(-1)).toMatchObject({
    result: "more",
  });
  const page = await runtime.read(await runtime.resolve(runId), { after: 0, limit: 100 });
  const types = page.events.map((text) => (JSON.parse(text) as Event).type);
  expect(types).toEqual([
    "RunCreated",
    "MessageReceived",
    "RequestStarted",
    "RequestCompleted",
    "RequestStarted",
    "RequestCompleted",
  ]);
});
