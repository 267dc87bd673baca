import { defineAgent, operation } from "troupe";
import type { Turn } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import { ofType, textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

/** An agent with one operation without input. */
function worker(work: (turn: Turn) => Promise<void>) {
  return defineAgent({
    name: "worker",
    purpose: "Works.",
    operations: { work: operation({ input: z.object({}), run: (_input, turn) => work(turn) }) },
  });
}

test("a canceled child sends no more texts and makes no more calls", async () => {
  const child = worker(async (turn) => {
    await pause(host);
    await turn.text("I am still here.");
    await turn.effect("late", () => "done");
  });
  const parent = defineAgent({
    name: "parent",
    purpose: "Does not wait for its child.",
    async chat(_input, turn) {
      await turn.call(middle, "work", {});
      await turn.sleep(10);
    },
  });
  const middle = defineAgent({
    name: "middle",
    purpose: "Ends before its child.",
    operations: {
      work: operation({
        input: z.object({}),
        async run(_input, turn) {
          void turn.call(child, "work", {});
          await turn.text("I have to go.");
        },
      }),
    },
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", chat);
  await host.environment.advance(10);

  const events = await host.events(asked);
  expect(events.map(({ type }) => type)).toEqual([
    "RequestStarted",
    "ToolCall",
    "ToolCall",
    "TextOutput",
    "ToolError",
    "ToolResult",
    "RequestCompleted",
  ]);
  expect(host.dropped).toContain("late_event");
});

test("texts of a child after its result are dropped", async () => {
  const child = worker(async (turn) => {
    void pause(host)
      .then(() => turn.text("One more thing."))
      .catch(() => {});
    await turn.text("Done.");
  });
  const parent = defineAgent({
    name: "parent",
    purpose: "Continues after its child.",
    async chat(_input, turn) {
      await turn.call(child, "work", {});
      await turn.sleep(10);
    },
  });
  const host = new TestHost({ agents: [parent] });
  await host.ask("parent", chat);
  await host.environment.advance(10);

  const texts = ofType(await host.events(asked), "TextOutput").map(({ content }) => content);
  expect(texts).toEqual(["Done."]);
});

test("the turn of a branch cannot be used after the branch has ended", async () => {
  const failures: unknown[] = [];
  const agent = defineAgent({
    name: "branching",
    purpose: "Uses a branch's turn too late.",
    async chat(_input, turn) {
      await turn.all([
        async (own) => {
          void pause(host)
            .then(() => own.text("too late"))
            .catch((error: unknown) => failures.push(error));
        },
      ]);
      await turn.sleep(10);
      await turn.text("after");
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("branching", chat);
  await host.environment.advance(10);

  expect(textsOf(await host.events(asked))).toEqual(["after"]);
  expect(failures).toMatchObject([{ code: "conflict" }]);
});

test("texts that an agent sends after its cancel are not in the log", async () => {
  const agent = defineAgent({
    name: "dramatic",
    purpose: "Has last words.",
    async chat(_input, turn) {
      turn.signal.addEventListener("abort", () => void turn.text("Farewell."));
      await turn.effect("act", ({ signal }) => {
        signal.addEventListener("abort", () => void turn.text("The rest is silence."));
        return new Promise<void>(() => {});
      });
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("dramatic", chat);
  await host.ask("dramatic", { type: "CancelRequest", request_id: asked });

  expect((await host.events(asked)).map(({ type }) => type)).toEqual([
    "RequestStarted",
    "ToolCall",
    "CancelRequest",
    "ToolError",
    "RequestCompleted",
  ]);
});

test("code that waits for its own call is informed that the turn has ended", async () => {
  const heard: unknown[] = [];
  const agent = defineAgent({
    name: "waiter",
    purpose: "Cleans up.",
    async chat(_input, turn) {
      try {
        await turn.waitForInput({ name: "Your name?" });
      } catch (error) {
        heard.push(error);
      }
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("waiter", chat);
  await host.ask("waiter", { type: "CancelRequest", request_id: asked });

  expect(heard).toMatchObject([{ code: "canceled", agent: "waiter", callId: "c1.1" }]);
});

test("a turn's signal does not abort when the turn succeeds", async () => {
  let fired = false;
  const agent = defineAgent({
    name: "calm",
    purpose: "Succeeds.",
    async chat(_input, turn) {
      turn.signal.addEventListener("abort", () => {
        fired = true;
      });
      await turn.text("All is well.");
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("calm", chat);

  expect(textsOf(await host.events(asked))).toEqual(["All is well."]);
  expect(fired).toBe(false);
});

test("an unawaited call is canceled with its turn, and its failure has no other effect", async () => {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", listen);
  const agent = defineAgent({
    name: "hasty",
    purpose: "Ends before what it began.",
    async chat(_input, turn) {
      void turn.effect("forever", () => new Promise<void>(() => {}));
      void turn.effect("failing", () => Promise.reject(new Error("it fails")));
      void turn.sleep(1_000);
      await turn.text("Bye.");
    },
  });
  const host = new TestHost({ agents: [agent] });
  await host.ask("hasty", chat);
  await host.environment.idle();
  process.off("unhandledRejection", listen);

  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", finish_reason: "success" });
  expect(ofType(events, "ToolError").map(({ function_name: name }) => name)).toContain("forever");
  expect(unhandled).toEqual([]);
  expect(host.environment.timers).toBe(0);
});

/** Some turns of the event loop. */
async function pause(host: TestHost): Promise<void> {
  for (let turns = 0; turns < 20; turns += 1) {
    await new Promise<void>((resolve) => {
      host.macrotask(resolve);
    });
  }
}
