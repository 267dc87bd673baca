import { fromMachine } from "troupe";
import { expect, test } from "vitest";
import { createMachine } from "xstate";
import { ofType } from "../../agents/events.ts";
import { asked, chat, TestHost } from "../test-host.ts";

const HOUR_MS = 3_600_000;

const machine = createMachine({
  initial: "idle",
  states: {
    idle: { on: { chat: "asking" } },
    asking: {
      tags: "wait",
      meta: { request_keys: { ok: "Send?" } },
      on: { resume: "sent" },
      after: { [HOUR_MS]: "late" },
    },
    sent: { type: "final" },
    late: { type: "final" },
  },
});

test("an answer that comes after the time of a state is refused, and the state ends at once", async () => {
  const agent = fromMachine({ name: "order", purpose: "Asks.", machine });
  const host = new TestHost({ agents: [agent] });
  await host.ask("order", chat);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "waiting" });
  // The wall clock is set, so the timer of the delay is still running.
  host.clockMs += 2 * HOUR_MS;
  const answer = { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } } as const;
  await expect(host.ask("order", answer)).rejects.toThrow("is not waiting for input");
  const events = await host.events(asked);
  expect(ofType(events, "WaitExpired")).toHaveLength(1);
  expect(ofType(events, "StateChanged").at(-1)).toMatchObject({ value: "late", status: "done" });
  expect(await host.runtime.status(asked)).toMatchObject({ status: "completed", finish_reason: "success" });
  await host.environment.advance(HOUR_MS);
  expect(await host.events(asked)).toEqual(events);
});
