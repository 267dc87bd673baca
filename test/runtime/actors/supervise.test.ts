import { defineAgent, ended, fromMachine, operation } from "troupe";
import type { Agent, Ended, Supervision } from "troupe";
import { llmAgent, scriptedModel } from "troupe/llm";
import type { Event, EventOf } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { assign, fromPromise, setup } from "xstate";
import { z } from "zod";
import { TestHost, asked, chat } from "../test-host.ts";
import { send } from "./steps.ts";

/** Fails as often as it is told, over all requests and restarts: what is outside of the log does not fail with its turn. */
class Outside {
  fails = 0;
  tries = 0;

  work(): string {
    this.tries += 1;
    if (this.fails === 0) return "done";
    this.fails -= 1;
    throw new Error("the tool broke");
  }
}

/** An agent that supervises a worker as the options say, and one that does not. */
function agentsOf(supervise: Supervision, outside: Outside): readonly Agent[] {
  const worker = defineAgent({
    name: "worker",
    purpose: "Works, or fails.",
    memorySchema: z.number().default(0),
    messages: { note: z.string() },
    operations: (own) => ({
      work: own({
        input: z.object({}),
        run(_input, turn): string {
          const before = turn.memory.get();
          turn.memory.set(before + 1);
          return `${outside.work()} after ${before}`;
        },
      }),
      hold: own({ input: z.object({}), run: (_input, turn) => turn.waitForInput({ go: "Go on?" }) }),
      count: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const boss = defineAgent({
    name: "boss",
    purpose: "Has work done.",
    supervise,
    memorySchema: z.array(z.custom<Ended>()).default([]),
    operations: (own) => ({
      ask: own({
        input: z.object({}),
        async run(_input, turn): Promise<string> {
          try {
            return await turn.ask(turn.actor(worker, "w"), "work", {});
          } catch (error) {
            return `caught: ${(error as Error).message}`;
          }
        },
      }),
      call: own({
        input: z.object({}),
        async run(_input, turn): Promise<string> {
          try {
            return await turn.call(worker, "work", {});
          } catch (error) {
            return `caught: ${(error as Error).message}`;
          }
        },
      }),
      tell: own({
        input: z.object({}),
        async run(_input, turn) {
          await turn.tell(turn.actor(worker, "w"), "work", {});
        },
      }),
      watch: own({
        input: z.object({}),
        run: (_input, turn) => turn.watch(turn.actor(worker, "w"), { failed: true }),
      }),
      hold: own({ input: z.object({}), run: (_input, turn) => turn.waitForInput({ go: "Go on?" }) }),
      ended: own({
        input: ended,
        run(end, turn) {
          turn.memory.set([...turn.memory.get(), end]);
        },
      }),
      seen: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
  const owner = defineAgent({
    name: "owner",
    purpose: "Asks the boss.",
    operations: (own) => ({
      ask: own({
        input: z.object({}),
        async run(_input, turn): Promise<string> {
          try {
            return await turn.call(boss, "call", {});
          } catch (error) {
            return `owner caught: ${(error as Error).message}`;
          }
        },
      }),
    }),
  });
  return [worker, boss, owner];
}

function hostOf(supervise: Supervision): { readonly host: TestHost; readonly outside: Outside } {
  const outside = new Outside();
  return { host: new TestHost({ agents: agentsOf(supervise, outside) }), outside };
}

async function endOf(host: TestHost, id: string): Promise<EventOf<"RequestCompleted">> {
  return (await host.events(id)).at(-1) as EventOf<"RequestCompleted">;
}

async function eventsOf(host: TestHost, agent: string, key: string): Promise<readonly Event[]> {
  return host.events((await host.runtime.find(agent, key)) ?? "");
}

const twice = { on: "error", restart: { attempts: 3, backoffMs: 1_000 } } as const;

describe("restart", () => {
  test("does a failed ask again, with the memory before it and pauses that double, as one request", async () => {
    const { host, outside } = hostOf({ ...twice, then: "escalate" });
    await send(host, "boss", "ask", "b", {}, "good");
    outside.fails = 2;
    void send(host, "boss", "ask", "b", {}, "asked");
    await host.environment.idle();
    expect(outside.tries).toBe(2);
    await host.environment.advance(999);
    expect(outside.tries).toBe(2);
    await host.environment.advance(1);
    expect(outside.tries).toBe(3);
    await host.environment.advance(1_999);
    expect(outside.tries).toBe(3);
    await host.environment.advance(1);
    expect(await endOf(host, "asked")).toMatchObject({ finish_reason: "success", output: "done after 1" });
    const [before, after] = (await eventsOf(host, "worker", "w")).filter(
      ({ type }) => type === "RequestRestarted",
    );
    const error = { code: "agent_error", message: "the tool broke" };
    expect([before, after]).toMatchObject([
      { restart: 1, error, until: expect.any(String) as string },
      { restart: 2, error },
    ]);
    const worker = await eventsOf(host, "worker", "w");
    expect(worker.filter(({ type }) => type === "RequestStarted")).toHaveLength(2);
    expect(worker.filter(({ type }) => type === "RequestCompleted")).toHaveLength(2);
  });

  test("is waited for by an ask that is parked, and by a process that begins meanwhile", async () => {
    const { host, outside } = hostOf({ ...twice, then: "escalate" });
    outside.fails = 1;
    void send(host, "boss", "ask", "b", {}, "asked").catch(() => {});
    await host.environment.idle();
    const [run] = (await host.runtime.runs({ agent: "worker", limit: 1 })).runs;
    expect(run).toMatchObject({ status: "running", wake_at: expect.any(String) as string });
    await host.restart();
    expect(outside.tries).toBe(1);
    await host.environment.advance(1_000);
    expect(await endOf(host, "asked")).toMatchObject({ output: "done after 0" });
    expect(outside.tries).toBe(2);
  });

  test("ends with a cancel of the request that waits for it", async () => {
    const { host, outside } = hostOf({ ...twice, then: "escalate" });
    outside.fails = 9;
    void send(host, "boss", "ask", "b", {}, "asked");
    await host.environment.idle();
    await host.ask("boss", { type: "CancelRequest", request_id: "asked" });
    await host.environment.advance(60_000);
    expect(outside.tries).toBe(1);
    expect((await eventsOf(host, "worker", "w")).at(-1)).toMatchObject({ finish_reason: "canceled" });
  });

  test("does a called agent again, each attempt as a call of its own", async () => {
    const { host, outside } = hostOf({ ...twice, then: "escalate" });
    outside.fails = 2;
    void send(host, "boss", "call", "b", {}, "called");
    await host.environment.advance(1_000);
    await host.environment.advance(2_000);
    expect(await endOf(host, "called")).toMatchObject({ output: "done after 0" });
    expect((await host.events("called")).filter(({ type }) => type === "ToolCall")).toHaveLength(3);
  });

  test("does a failed tell again, and a request of a client to an actor that is watched", async () => {
    const { host, outside } = hostOf({ ...twice, then: "stop" });
    outside.fails = 1;
    await send(host, "boss", "tell", "b");
    await host.environment.advance(1_000);
    expect(outside.tries).toBe(2);
    await send(host, "boss", "watch", "b");
    outside.fails = 1;
    void send(host, "worker", "work", "w", {}, "of-client");
    await host.environment.advance(1_000);
    expect(await endOf(host, "of-client")).toMatchObject({ output: "done after 1" });
    expect(await host.log.outbox({ kind: "dead" })).toEqual([]);
  });

  test("comes after the cleanup steps, each time", async () => {
    const done: string[] = [];
    let fails = 2;
    const worker = defineAgent({
      name: "worker",
      purpose: "Undoes what it has done.",
      operations: (own) => ({
        work: own({
          input: z.object({}),
          async run(_input, turn) {
            turn.cleanup((t) => t.effect("undo", () => void done.push("undo")));
            const isFull = await turn.effect("book", () => {
              done.push("book");
              fails -= 1;
              return fails >= 0;
            });
            if (isFull) throw new Error("no seat");
          },
        }),
      }),
    });
    const boss = defineAgent({
      name: "boss",
      purpose: "Has work done.",
      supervise: { ...twice, then: "stop" },
      operations: (own) => ({
        ask: own({
          input: z.object({}),
          run: (_input, turn) => turn.ask(turn.actor(worker, "w"), "work", {}),
        }),
      }),
    });
    const host = new TestHost({ agents: [worker, boss] });
    void send(host, "boss", "ask", "b", {}, "asked");
    await host.environment.advance(1_000);
    await host.environment.advance(2_000);
    expect(done).toEqual(["book", "undo", "book", "undo", "book"]);
    expect(await endOf(host, "asked")).toMatchObject({ finish_reason: "success" });
  });

  test("has a chart begin again in the state that it had before the request", async () => {
    let fails = 1;
    const machine = setup({
      types: { events: {} as { readonly type: "step" }, context: {} as { readonly steps: number } },
      actors: {
        risky: fromPromise(async () => {
          fails -= 1;
          if (fails >= 0) throw new Error("it broke");
        }),
      },
    }).createMachine({
      context: { steps: 0 },
      initial: "idle",
      states: {
        idle: {
          on: { step: { target: "busy", actions: assign({ steps: ({ context }) => context.steps + 1 }) } },
        },
        busy: { invoke: { src: "risky", onDone: "idle" } },
      },
    });
    const chart = fromMachine({
      name: "chart",
      purpose: "Takes steps.",
      machine,
      operations: { step: operation({}) },
      reads: { steps: ({ context }) => context.steps },
    });
    const boss = defineAgent({
      name: "boss",
      purpose: "Has steps taken.",
      supervise: { ...twice, then: "stop" },
      operations: (own) => ({
        ask: own({
          input: z.object({}),
          run: (_input, turn) => turn.ask(turn.actor(chart, "c"), "step", {}),
        }),
      }),
    });
    const host = new TestHost({ agents: [chart, boss] });
    void send(host, "boss", "ask", "b", {}, "asked");
    await host.environment.advance(1_000);
    expect(await endOf(host, "asked")).toMatchObject({ finish_reason: "success" });
    expect(JSON.parse((await send(host, "chart", "steps", "c")).event ?? "{}")).toMatchObject({ output: 1 });
    expect(
      (await eventsOf(host, "chart", "c")).filter(({ type }) => type === "RequestRestarted"),
    ).toHaveLength(1);
  });

  test("without a supervisor there is none", async () => {
    const { host, outside } = hostOf({ ...twice, then: "stop" });
    outside.fails = 1;
    await send(host, "worker", "work", "w", {}, "alone");
    expect(await endOf(host, "alone")).toMatchObject({ finish_reason: "error" });
  });

  test("counts the restarts of an actor within a time, and those before no more", async () => {
    const within = { attempts: 2, withinMs: 10_000, backoffMs: 0 };
    const { host, outside } = hostOf({ on: "error", restart: within, then: "stop" });
    outside.fails = 1;
    await send(host, "boss", "ask", "b", {}, "one");
    expect(await endOf(host, "one")).toMatchObject({ output: "done after 0" });
    await host.environment.advance(10_001);
    outside.fails = 1;
    await send(host, "boss", "ask", "b", {}, "two");
    expect(await endOf(host, "two")).toMatchObject({ output: "done after 1" });
    await host.environment.advance(5_000);
    outside.fails = 1;
    await send(host, "boss", "ask", "b", {}, "three");
    expect(await endOf(host, "three")).toMatchObject({ output: "caught: the tool broke" });
    expect((await eventsOf(host, "worker", "w")).at(-1)).toMatchObject({ type: "ActorStopped" });
  });
});

describe("escalate", () => {
  const escalate = { on: "error", then: "escalate" } as const;

  test("fails the turn of the one that asks, whatever its code does about the error", async () => {
    const { host, outside } = hostOf(escalate);
    outside.fails = 1;
    await send(host, "boss", "ask", "b", {}, "asked");
    const error = { code: "agent_error", message: "the tool broke" };
    expect(await endOf(host, "asked")).toMatchObject({ finish_reason: "error", error });
    await host.restart();
    await send(host, "boss", "ask", "b", {}, "later");
    expect(await endOf(host, "later")).toMatchObject({ output: "done after 0" });
  });

  test("fails a called agent that calls, whose caller gets the error", async () => {
    const { host, outside } = hostOf(escalate);
    outside.fails = 1;
    await send(host, "owner", "ask", "o", {}, "owned");
    expect(await endOf(host, "owned")).toMatchObject({ output: "owner caught: the tool broke" });
  });

  test("fails the open turn of the one that watches, and what told it", async () => {
    const { host, outside } = hostOf(escalate);
    await send(host, "boss", "watch", "b");
    await send(host, "boss", "hold", "b", {}, "held");
    outside.fails = 1;
    await send(host, "worker", "work", "w", {}, "bad");
    const error = { code: "agent_error", message: "the tool broke" };
    expect(await endOf(host, "held")).toMatchObject({ finish_reason: "error", error });
    const told = (await eventsOf(host, "boss", "b")).filter(
      (event) => event.type === "RequestStarted" && event.operation === "ended",
    );
    expect(told).toHaveLength(1);
    expect(await endOf(host, told[0]?.request_id ?? "")).toMatchObject({ finish_reason: "error", error });
    // An idle one fails by what tells it.
    outside.fails = 1;
    await send(host, "worker", "work", "w", {}, "worse");
    const boss = await host.runtime.run((await host.runtime.find("boss", "b")) ?? "");
    expect(boss.last_turn).toMatchObject({ operation: "ended", finish_reason: "error" });
    await host.environment.advance(1_000);
    expect(await host.log.outbox({})).toEqual([]);
    expect(await host.log.outbox({ kind: "dead" })).toEqual([]);
  });
});

describe("stop", () => {
  const stop = { on: "error", then: "stop" } as const;

  test("refuses requests and messages until the actor is resumed", async () => {
    const { host, outside } = hostOf(stop);
    await send(host, "boss", "watch", "b");
    await send(host, "worker", "work", "w", {}, "good");
    outside.fails = 1;
    await send(host, "worker", "work", "w", {}, "bad");
    const runId = (await host.runtime.find("worker", "w")) ?? "";
    expect((await host.runtime.run(runId)).last_turn).toMatchObject({
      request_id: "bad",
      stopped: { since: expect.any(String) as string },
    });
    await host.restart();
    await expect(send(host, "worker", "work", "w")).rejects.toMatchObject({
      code: "stopped",
      message: expect.stringContaining("the tool broke") as string,
      details: { hint: expect.stringContaining(`troupe runs resume ${runId}`) as string },
    });
    await expect(
      host.ask("worker", { type: "Message", name: "note", body: "", key: "w" }),
    ).rejects.toMatchObject({ code: "stopped" });
    const { event } = await send(host, "worker", "count", "w");
    expect(JSON.parse(event ?? "{}")).toMatchObject({ output: 1 });
    await send(host, "boss", "ask", "b", {}, "asked");
    expect(await endOf(host, "asked")).toMatchObject({
      output: expect.stringContaining("is stopped") as string,
    });
    expect(JSON.parse((await send(host, "boss", "seen", "b")).event ?? "{}")).toMatchObject({
      output: [{ request_id: "bad", error: { message: "the tool broke" } }],
    });
    await host.runtime.resume(runId);
    expect((await eventsOf(host, "worker", "w")).at(-1)).toMatchObject({ type: "ActorResumed" });
    expect((await host.runtime.run(runId)).last_turn).not.toHaveProperty("stopped");
    await send(host, "worker", "work", "w", {}, "again");
    expect(await endOf(host, "again")).toMatchObject({ output: "done after 1" });
    await expect(host.runtime.resume(runId)).rejects.toMatchObject({ code: "conflict" });
  });

  test("ends the requests that wait; those that actors have told are dead letters", async () => {
    const { host, outside } = hostOf(stop);
    await send(host, "boss", "watch", "b");
    await send(host, "worker", "hold", "w", {}, "held");
    await send(host, "boss", "tell", "b");
    void host
      .ask("worker", {
        type: "OperationRequest",
        operation: "work",
        input: {},
        key: "w",
        request_id: "queued",
        on_busy: "enqueue",
      })
      .catch(() => {});
    await host.environment.idle();
    outside.fails = 2;
    await host.ask("worker", { type: "ResumeWithInput", request_id: "held", request_keys: { go: 1 } });
    await host.environment.advance(1_000);
    // The tell fails and stops the actor; the request behind it has not run.
    expect(outside.tries).toBe(1);
    expect(await endOf(host, "queued")).toMatchObject({ error: { code: "stopped" } });
    const letters = await host.runtime.deadLetters();
    expect(letters).toMatchObject([{ kind: "failed", error: { message: "the tool broke" } }]);
    outside.fails = 0;
    const runId = letters[0]?.run_id ?? "";
    await expect(host.runtime.sendAgain(runId, letters[0]?.request_id ?? "")).rejects.toMatchObject({
      code: "stopped",
    });
    await host.runtime.resume(runId);
    await host.runtime.sendAgain(runId, letters[0]?.request_id ?? "");
    await host.environment.idle();
    expect(outside.tries).toBe(2);
    expect(await host.runtime.deadLetters()).toEqual([]);
  });

  test("lasts: a stopped actor is not renewed, and history does not take it", async () => {
    const outside = new Outside();
    const host = new TestHost({ agents: agentsOf(stop, outside), limits: { keyedRunEvents: 1 } });
    await send(host, "boss", "ask", "b");
    outside.fails = 1;
    await send(host, "boss", "ask", "b");
    const runId = await host.runtime.find("worker", "w");
    await expect(send(host, "worker", "work", "w")).rejects.toMatchObject({ code: "stopped" });
    expect(await host.runtime.find("worker", "w")).toBe(runId);
  });
});

describe("supervise", () => {
  test.each([
    [{ on: "failure", then: "stop" }, "for on"],
    [{ on: "error" }, "for then"],
    [{ on: "error", then: "resume" }, "for then"],
    [{ on: "error", then: "stop", restart: { attempts: 0 } }, "attempts"],
    [{ on: "error", then: "stop", restart: { attempts: 2, withinMs: 0 } }, "withinMs"],
    [{ on: "error", then: "stop", restart: { attempts: 2, backoffMs: -1 } }, "backoffMs"],
    [{ on: "error", then: "stop", restart: { attempts: 2, within: 1 } }, "within"],
    [{ on: "error", then: "stop", retry: {} }, "retry"],
    [[], "object"],
  ])("refuses %j", (supervise, expected) => {
    const wrong = supervise as unknown as Supervision;
    expect(() => agentsOf(wrong, new Outside())).toThrow(expected);
  });

  test("is an option of a chart, too", async () => {
    const machine = setup({ types: { events: {} as { readonly type: "go" } } }).createMachine({
      initial: "idle",
      states: { idle: { on: { go: "busy" } }, busy: {} },
    });
    const chart = fromMachine({
      name: "chart",
      purpose: "Has one.",
      machine,
      supervise: { on: "error", then: "stop" },
    });
    expect(chart.supervise).toEqual({ on: "error", then: "stop" });
  });
});

test("a model's agent that escalates fails with the agent that it calls", async () => {
  const broken = defineAgent({
    name: "broken",
    purpose: "Fails.",
    chat() {
      throw new Error("broken for good");
    },
  });
  const boss = llmAgent({
    name: "boss",
    purpose: "Has work done.",
    model: scriptedModel([{ toolCalls: [{ name: "broken", input: { input: "go" } }] }, "It went wrong."]),
    instructions: "Call it.",
    agents: [broken],
    supervise: { on: "error", then: "escalate" },
  });
  const host = new TestHost({ agents: [broken, boss] });
  await host.ask("boss", chat);
  expect((await host.events(asked)).at(-1)).toMatchObject({
    type: "RequestCompleted",
    finish_reason: "error",
    error: { message: expect.stringContaining("broken for good") as string },
  });
});
