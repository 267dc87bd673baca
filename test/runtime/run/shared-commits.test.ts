import { defineAgent } from "troupe";
import type { Request } from "troupe/protocol";
import { expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";

/** What the worker does at one input, besides noting it. */
interface Step {
  readonly at: string;
  act(host: TestHost): void;
}

/** A host with a worker whose first turn takes a second, while others wait for its end. */
async function crowded(inputs: readonly string[], step: Step) {
  const ran: string[] = [];
  const worker = defineAgent({
    name: "worker",
    purpose: "Notes what it is asked.",
    async chat(input, turn) {
      ran.push(input);
      if (input === "first") await turn.sleep(1_000);
      if (input === step.at) {
        step.act(host);
        // Dead code does nothing more.
        if (host.crashed) await new Promise<void>(() => {});
      }
    },
  });
  const host = new TestHost({ agents: [worker], limits: { queuedRequests: 100 } });
  const say = (input: string, runId?: string | null): Request => ({
    type: "ChatRequest",
    input,
    request_id: `req-${input}`,
    ...(typeof runId === "string" && { run_id: runId }),
  });
  const { runId } = await host.ask("worker", say("first"));
  for (const input of inputs) await host.ask("worker", say(input, runId));
  return { host, ran, runId: runId ?? "" };
}

const waiting = Array.from({ length: 20 }, (_, index) => `n${index}`);

test("turns of requests that wait share commits, and the log has each of them in its order", async () => {
  const { host, ran, runId } = await crowded(waiting, { at: "n0", act: (own) => own.holdCommits() });
  const { commits } = host;
  await host.environment.advance(1_000);
  // The start of the second one is committed, and with it everything that waits.
  expect(ran).toEqual(["first", ...waiting]);
  expect(host.commits - commits).toBeLessThan(6);
  await host.releaseCommits();
  expect(host.commits - commits).toBeLessThan(8);
  const events = await host.events(runId);
  expect(ofType(events, "RequestCompleted").map(({ request_id: id }) => id)).toEqual(
    ["first", ...waiting].map((input) => `req-${input}`),
  );
});

test("turns whose commits are lost run again after a crash, each once in the log", async () => {
  let isHeld = false;
  const { host, ran, runId } = await crowded(waiting, {
    at: "n0",
    act(own) {
      if (!isHeld) own.holdCommits();
      isHeld = true;
    },
  });
  await host.environment.advance(1_000);
  expect(ran).toHaveLength(1 + waiting.length);
  expect(ofType(await host.events(runId), "RequestCompleted")).toHaveLength(1);
  host.crash();
  await host.releaseCommits();
  await host.restart();
  // At most the oldest of the held commits was written.
  expect(ran.filter((input) => input === "n19")).toHaveLength(2);
  const events = await host.events(runId);
  expect(ofType(events, "RequestCompleted").map(({ request_id: id }) => id)).toEqual(
    ["first", ...waiting].map((input) => `req-${input}`),
  );
});

test("no turn runs before the acceptance of its request is committed", async () => {
  const { host, ran, runId } = await crowded(["n0"], { at: "n0", act: (own) => own.holdCommits() });
  await host.environment.advance(1_000);
  const late = host.runtime.process("worker", {
    type: "ChatRequest",
    input: "late",
    run_id: runId,
  });
  await host.environment.idle();
  expect(ran).toEqual(["first", "n0"]);
  await host.releaseCommits();
  await late;
  expect(ran).toEqual(["first", "n0", "late"]);
});

test("of turns that share commits, only the one that ends the process is poisoned", async () => {
  const { host, runId } = await crowded(waiting, { at: "n7", act: (own) => own.crash() });
  await host.environment.advance(1_000);
  for (let death = 0; death < 20; death += 1) {
    expect(host.crashed).toBe(true);
    await host.restart();
    // A suspect is held back before it is tried.
    for (let more = 0; more < 200 && !host.crashed; more += 1) await host.environment.advance(1_000);
    if (!host.crashed) break;
  }
  const ends = ofType(await host.events(runId), "RequestCompleted");
  expect(ends.filter(({ error }) => error).map(({ request_id: id, error }) => [id, error?.code])).toEqual([
    ["req-n7", "poisoned"],
  ]);
  expect(ends).toHaveLength(1 + waiting.length);
});
