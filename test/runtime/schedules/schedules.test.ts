import { defineAgent } from "troupe";
import type { Agent, Limits, ScheduleOptions } from "troupe";
import type { Event } from "troupe/protocol";
import { describe, expect, test } from "vitest";
import { ofType } from "../../agents/events.ts";
import { TestHost } from "../test-host.ts";
import { scheduled } from "./agents.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Starts a host half an hour after a full hour. */
async function startHost(agent: Agent = scheduled(), limits: Partial<Limits> = {}): Promise<TestHost> {
  const host = new TestHost({ agents: [agent], limits });
  host.clockMs = Date.UTC(2026, 2, 2, 10, 30) - host.environment.now();
  await host.restart();
  return host;
}

/** The events of the run of the schedule. */
async function eventsOf(host: TestHost): Promise<readonly Event[]> {
  return host.events((await host.runtime.find("reporter", "schedule-report")) ?? "");
}

/** The ends of its turns: their outputs, or their reasons. */
async function endsOf(host: TestHost): Promise<readonly unknown[]> {
  return ofType(await eventsOf(host), "RequestCompleted").map(
    ({ output, finish_reason }) => output ?? finish_reason,
  );
}

const at = (hour: number, minute = 0): string =>
  `news 2026-03-02T${String(hour).padStart(2, "0")}:${String(minute).padStart(2, "0")}:00.000Z`;

describe("a schedule", () => {
  test("calls its operation at its times, in the run with its key", async () => {
    const host = await startHost();
    expect(await endsOf(host)).toEqual([]);
    await host.environment.advance(29 * MINUTE_MS);
    expect(await endsOf(host)).toEqual([]);
    await host.environment.advance(MINUTE_MS);
    expect(await endsOf(host)).toEqual([at(11)]);
    expect((await host.runtime.runs({ limit: 1, agent: "reporter" })).runs).toMatchObject([
      { initial_input: { topic: "news" } },
    ]);
    await host.environment.advance(2 * HOUR_MS);
    expect(await endsOf(host)).toEqual([at(11), at(12), at(13)]);
    expect(host.faults).toEqual([]);
  });

  test("makes up for no time before it was defined, and for the newest one that it has missed since", async () => {
    const host = await startHost();
    expect(await endsOf(host)).toEqual([]);
    host.crash();
    await host.environment.advance(4 * HOUR_MS);
    await host.restart();
    expect(await endsOf(host)).toEqual([at(14)]);
    await host.restart();
    await host.restart();
    expect(await endsOf(host)).toEqual([at(14)]);
    await host.environment.advance(HOUR_MS);
    expect(await endsOf(host)).toEqual([at(14), at(15)]);
  });

  test("starts again when its times change, but not when its input changes", async () => {
    const host = await startHost();
    host.crash();
    await host.environment.advance(2 * HOUR_MS);
    await host.restart([scheduled({ cron: "30 * * * *" })]);
    expect(await endsOf(host)).toEqual([]);
    await host.environment.advance(HOUR_MS);
    expect(await endsOf(host)).toEqual([at(13, 30)]);
    host.crash();
    await host.environment.advance(HOUR_MS);
    await host.restart([scheduled({ cron: "30 * * * *", input: { topic: "weather" } })]);
    expect(await endsOf(host)).toEqual([at(13, 30), at(14, 30).replace("news", "weather")]);
  });

  test("leaves a time out while an earlier turn is open, and its id is taken", async () => {
    const host = await startHost(scheduled({ input: { topic: "news", asks: true } }));
    await host.environment.advance(2 * HOUR_MS);
    expect(await endsOf(host)).toEqual(["canceled"]);
    const [wait] = ofType(await eventsOf(host), "WaitForInput");
    await host.ask("reporter", {
      type: "ResumeWithInput",
      request_id: wait?.request_id ?? "",
      request_keys: { go: true },
    });
    await host.restart();
    await host.environment.advance(10 * MINUTE_MS);
    expect(await endsOf(host)).toEqual(["canceled", at(11)]);
  });

  test("with the overlap queue, its turns follow one another", async () => {
    const host = await startHost(scheduled({ input: { topic: "news", asks: true }, overlap: "queue" }));
    await host.environment.advance(2 * HOUR_MS);
    for (let answer = 0; answer < 2; answer += 1) {
      const wait = ofType(await eventsOf(host), "WaitForInput").at(-1);
      await host.ask("reporter", {
        type: "ResumeWithInput",
        request_id: wait?.request_id ?? "",
        request_keys: { go: true },
      });
    }
    expect(await endsOf(host)).toEqual([at(11), at(12)]);
  });

  test("fires once per time over steps of the clock", async () => {
    const host = await startHost();
    await host.environment.advance(HOUR_MS);
    for (const stepMs of [-3 * HOUR_MS, 3 * HOUR_MS, 2 * HOUR_MS, -2 * HOUR_MS]) {
      host.clockMs += stepMs;
      await host.environment.advance(2 * MINUTE_MS);
    }
    await host.environment.advance(4 * HOUR_MS);
    const ends = await endsOf(host);
    expect(ends).toEqual([at(11), at(13), at(12), at(14), at(15)]);
    expect(ends).not.toContain(at(10));
  });

  test.each(["before", "after"] as const)(
    "is sent once when the process dies %s its commit",
    async (when) => {
      const host = await startHost();
      host.planFault({ kind: "crash", written: when === "after", after: 0 });
      await host.environment.advance(HOUR_MS);
      expect(host.crashed).toBe(true);
      await host.restart();
      expect(await endsOf(host)).toEqual([at(11)]);
    },
  );

  test("is sent when the log can be written again", async () => {
    const host = await startHost();
    host.planFault({ kind: "failure", written: false });
    await host.environment.advance(HOUR_MS);
    host.repair();
    await host.environment.advance(5 * MINUTE_MS);
    expect(await endsOf(host)).toEqual([at(11)]);
  });

  test("continues after its run was removed, without the times before", async () => {
    const host = await startHost();
    await host.environment.advance(HOUR_MS);
    await host.runtime.removeRun((await host.runtime.find("reporter", "schedule-report")) ?? "");
    await host.restart();
    await host.environment.advance(HOUR_MS);
    expect(await endsOf(host)).toEqual([at(12)]);
  });

  test("continues when its run is renewed, and makes up only for times since it was defined", async () => {
    const host = await startHost(scheduled(), { keyedRunEvents: 3 });
    await host.environment.advance(2 * HOUR_MS);
    expect(await endsOf(host)).toEqual([at(11), at(12)]);
    await host.environment.advance(HOUR_MS);
    expect(await endsOf(host)).toEqual([at(13)]);
    host.crash();
    await host.environment.advance(3 * HOUR_MS);
    await host.restart();
    expect(await endsOf(host)).toEqual([at(13), at(16)]);
    await host.environment.advance(HOUR_MS);
    expect((await eventsOf(host))[0]).toMatchObject({ type: "RunCreated", key: "schedule-report" });
    expect(await endsOf(host)).toEqual([at(17)]);
  });

  test("sends the request of a time that passes while its start is written", async () => {
    const host = new TestHost({ agents: [scheduled({ cron: "* * * * *" })] });
    host.clockMs = Date.UTC(2026, 2, 2, 10, 59, 59, 950) - host.environment.now();
    host.holdCommits();
    await host.environment.advance(100);
    expect(await endsOf(host)).toEqual([]);
    await host.releaseCommits();
    await host.environment.advance(0);
    expect(await endsOf(host)).toEqual([at(11)]);
    await host.environment.advance(MINUTE_MS);
    expect(await endsOf(host)).toEqual([at(11), at(11, 1)]);
  });

  test("leaves no timer behind when the runtime closes", async () => {
    const host = await startHost();
    const closing = host.runtime.close();
    await host.environment.idle();
    await closing;
    expect(host.environment.timers).toBe(0);
  });
});

describe("an error at definition names the agent and the schedule", () => {
  test.each<[Partial<ScheduleOptions>, string]>([
    [{ cron: "* * * * * *" }, 'has the cron text "* * * * * *", which does not have five fields'],
    [{ cron: "@daily" }, 'has the cron text "@daily", which does not have five fields'],
    [{ cron: "61 * * * *" }, 'cannot run at "61 * * * *" in the time zone UTC'],
    [{ cron: "0 0 30 2 *" }, 'never runs: no time fits "0 0 30 2 *"'],
    [{ timezone: "Mars/Base" }, 'cannot run at "0 * * * *" in the time zone Mars/Base'],
    [
      { operation: "toString" },
      "calls the operation toString, which the agent does not have; its operations: report",
    ],
    [{ input: { topic: 5 } }, "has an input that does not fit"],
    [{ overlap: "later" as "skip" }, 'has the overlap "later"; use "skip" or "queue"'],
  ])("%j", (options, message) => {
    expect(() => scheduled(options)).toThrow(`schedule report of agent reporter ${message}`);
  });

  test("a wrong name", () => {
    const schedules = { "a b": { cron: "0 * * * *", operation: "chat", input: { input: "" } } };
    expect(() => defineAgent({ name: "x", purpose: "", chat: () => "", schedules })).toThrow(
      "schedule a b of agent x has a wrong name",
    );
  });
});

test("a time in the gap of a change of the clocks is the end of the gap, and one in the overlap comes once", () => {
  const { report } = scheduled({ cron: "30 2 * * *", timezone: "Europe/Berlin" }).schedules ?? {};
  const times: string[] = [];
  for (const start of ["2026-03-28T12:00:00Z", "2026-10-24T12:00:00Z"]) {
    let time = Date.parse(start);
    for (let count = 0; count < 2; count += 1) {
      time = report?.next(time) ?? 0;
      times.push(new Date(time).toISOString());
      expect(report?.newest(time)).toBe(time);
      expect(report?.newest(time - 1)).toBeLessThan(time);
      expect(report?.newest(time + HOUR_MS)).toBe(time);
    }
  }
  expect(times).toEqual([
    "2026-03-29T01:00:00.000Z",
    "2026-03-30T00:30:00.000Z",
    "2026-10-25T00:30:00.000Z",
    "2026-10-26T01:30:00.000Z",
  ]);
});
