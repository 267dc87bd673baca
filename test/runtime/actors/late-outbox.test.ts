import type { RunId } from "troupe/protocol";
import { expect, test } from "vitest";
import { asked, TestHost } from "../test-host.ts";
import { list, user } from "./agents.ts";

async function advance(host: TestHost, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) await host.environment.advance(1_000);
}

test.each([0, 1, 2])(
  "an answer is sent after a crash %i commits after it, also if its run and then the outboxes cannot be read once",
  async (after) => {
    const host = new TestHost({ agents: [user, list] });
    await host.ask("user", {
      type: "OperationRequest",
      operation: "ask_bad",
      input: { operation: "hold" },
      request_id: asked,
    });
    // The turn that asks is parked.
    await advance(host, 5);
    const answering = (await host.runtime.find("list", "bad")) as RunId;
    host.planFault({ kind: "crash", written: true, after });
    void host.ask("list", { type: "ResumeWithInput", run_id: answering, request_keys: { go: true } });
    await advance(host, 1);
    expect(host.crashed).toBe(true);
    const { claim, outbox } = host.log;
    let claims = 0;
    let reads = 0;
    Object.assign(host.log, {
      claim: (runId: RunId) =>
        runId === answering && (claims += 1) === 1
          ? Promise.reject(new Error("the disk is gone"))
          : claim(runId),
      outbox: (query: object) =>
        (reads += 1) === 2 ? Promise.reject(new Error("the disk is gone")) : outbox(query),
    });
    await host.restart();
    await advance(host, 30);
    expect(claims).toBeGreaterThan(1);
    expect(await host.runtime.status(asked)).toMatchObject({ status: "completed" });
    expect(await host.log.outbox({})).toEqual([]);
  },
);
