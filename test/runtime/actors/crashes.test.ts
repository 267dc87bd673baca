import type { Event, JsonObject } from "troupe/protocol";
import { expect, test } from "vitest";
import { asked, TestHost } from "../test-host.ts";
import { list, peer, user } from "./agents.ts";
import { sampled } from "../../machine/long.ts";

const agents = [list, user, peer];
const run = (operation: string, input: JsonObject) =>
  ({ type: "OperationRequest", operation, input, request_id: asked }) as const;

/** Lets time pass until nothing is left to send again. */
async function settle(host: TestHost): Promise<void> {
  for (let round = 0; round < 20; round += 1) await host.environment.advance(1_000);
}

async function listEvents(host: TestHost, key: string): Promise<readonly Event[]> {
  const runId = await host.runtime.find("list", key);
  return runId === undefined ? [] : host.events(runId);
}

const faults = Array.from({ length: 40 }, (_, index) => index + 1).flatMap((commit) =>
  [true, false].map((written) => ({ commit, written })),
);

test.each(sampled(faults, 7))(
  "a crash at commit $commit (written: $written) repeats no ask and loses none",
  async ({ commit, written }) => {
    const host = new TestHost({ agents, commitFaults: [{ commit, kind: "crash", written }] });
    const receipt = host.ask("user", run("ask_all", { key: "shop" }));
    receipt.catch(() => {});
    await host.environment.idle();
    await settle(host);
    if (host.crashed) {
      await host.restart();
      const sent = await host.log.lookup(asked);
      if (sent === undefined) await host.ask("user", run("ask_all", { key: "shop" }));
      await settle(host);
    }
    expect((await host.events(asked)).at(-1)).toMatchObject({
      type: "RequestCompleted",
      output: { first: 1, second: 2, items: ["a", "b"] },
    });
    const starts = (await listEvents(host, "shop")).filter(({ type }) => type === "RequestStarted");
    expect(starts).toHaveLength(3);
    expect(await host.log.outbox({})).toEqual([]);
    expect(await host.log.open()).toEqual([]);
  },
);

test.each(sampled(faults.slice(0, 40), 7))(
  "a crash at commit $commit (written: $written) repeats no tell, and keeps their order",
  async ({ commit, written }) => {
    const host = new TestHost({ agents, commitFaults: [{ commit, kind: "crash", written }] });
    host.ask("user", run("tell_all", { key: "shop" })).catch(() => {});
    await host.environment.idle();
    await settle(host);
    if (host.crashed) {
      await host.restart();
      if ((await host.log.lookup(asked)) === undefined)
        await host.ask("user", run("tell_all", { key: "shop" }));
      await settle(host);
    }
    expect((await host.events(asked)).at(-1)).toMatchObject({ output: 3 });
    const texts = (await listEvents(host, "shop")).flatMap((event) =>
      event.type === "TextOutput" ? [event.content] : [],
    );
    expect(texts).toEqual(["a", "b", "c"]);
    expect(await host.log.open()).toEqual([]);
  },
);

test.each(sampled(faults.slice(0, 40), 7))(
  "a crash at commit $commit (written: $written) leaves no ask of a timed out call open",
  async ({ commit, written }) => {
    const host = new TestHost({ agents, commitFaults: [{ commit, kind: "crash", written }] });
    const request = run("ask_bad", { operation: "hold", timeoutMs: 3_000 });
    host.ask("user", request).catch(() => {});
    await host.environment.idle();
    await settle(host);
    if (host.crashed) {
      await host.restart();
      if ((await host.log.lookup(asked)) === undefined) await host.ask("user", request);
      await settle(host);
    }
    const outcome = (await host.events(asked)).find(({ type }) => type === "ToolError");
    expect(outcome).toMatchObject({ code: "timeout" });
    const other = await listEvents(host, "bad");
    const ends = other.filter(({ type }) => type === "RequestCompleted");
    expect(ends).toMatchObject([{ finish_reason: "canceled" }]);
    expect(await host.log.outbox({})).toEqual([]);
    expect((await host.log.list({ limit: 10 })).runs.map(({ status }) => status)).toEqual(["idle", "idle"]);
  },
);

test.each(sampled(faults.slice(0, 20), 7))(
  "a crash at commit $commit (written: $written) sends no tell above the limit of open tells",
  async ({ commit, written }) => {
    const commitFaults = [{ commit, kind: "crash", written }] as const;
    const host = new TestHost({ agents, limits: { openAsks: 2 }, commitFaults });
    host.ask("user", run("tell_each", { key: "shop" })).catch(() => {});
    await host.environment.idle();
    await settle(host);
    if (host.crashed) {
      await host.restart();
      if ((await host.log.lookup(asked)) === undefined)
        await host.ask("user", run("tell_each", { key: "shop" }));
      await settle(host);
    }
    const errors = (await host.events(asked)).filter(({ type }) => type === "ToolError");
    expect(errors).toMatchObject([{ code: "overloaded" }]);
    const texts = (await listEvents(host, "shop")).flatMap((event) =>
      event.type === "TextOutput" ? [event.content] : [],
    );
    expect(texts).toEqual(["a", "b"]);
  },
);

test.each(sampled(faults.slice(0, 30), 7))(
  "a crash at commit $commit (written: $written) sends no ask above the limit of depth",
  async ({ commit, written }) => {
    const commitFaults = [{ commit, kind: "crash", written }] as const;
    const host = new TestHost({ agents, limits: { depth: 1 }, commitFaults });
    const request = { ...run("chain", { keys: ["b", "c"] }), key: "a" };
    host.ask("peer", request).catch(() => {});
    await host.environment.idle();
    await settle(host);
    if (host.crashed) {
      await host.restart();
      if ((await host.log.lookup(asked)) === undefined) await host.ask("peer", request);
      await settle(host);
    }
    expect(await host.runtime.find("peer", "c")).toBeUndefined();
    const middle = (await host.runtime.find("peer", "b")) ?? "";
    const errors = (await host.events(middle)).filter(({ type }) => type === "ToolError");
    expect(errors).toMatchObject([{ code: "too_deep" }]);
    expect(await host.log.open()).toEqual([]);
  },
);
