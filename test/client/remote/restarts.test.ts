// Two servers, one using the other's agent; either is killed in the middle of a call and restarted.
import { fileURLToPath } from "node:url";
import { createClient } from "troupe/client";
import type { Event } from "troupe/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { payments } from "../../../agents/payments.ts";
import { ticker } from "../../../agents/ticker.ts";
import { ofType } from "../../agents/events.ts";
import { ServerProcess } from "../../flows/server.ts";
import { FaultProxy } from "../stream/fault-proxy.ts";
import { start } from "../servers.ts";

const NEAR = fileURLToPath(new URL("near-server.ts", import.meta.url));
const COUNT = "30 15";
const NUMBERS = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`);

afterEach(() => {
  vi.unstubAllEnvs();
});

test(
  "a remote agent that is requested directly continues when its local server is killed and restarted",
  { tags: "long" },
  async () => {
    await using there = await start({ agents: [ticker] });
    vi.stubEnv("TROUPE_REMOTE", `${there.url}/ticker`);
    await using here = await ServerProcess.create(NEAR);
    await using way = await FaultProxy.start(await here.start());
    const events: Event[] = [];
    for await (const event of createClient(way.url).agent("ticker").chat(COUNT)) {
      events.push(event);
      if (event.type === "TextOutput" && event.content === "10\n") way.lead(await here.restart());
    }
    expect(numbersIn(events)).toEqual(NUMBERS);
    expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
    expect(events.at(-1)).toMatchObject({ finish_reason: "success" });
    expect((await there.runtime.runs({ limit: 10 })).runs).toHaveLength(1);
  },
);

test("a call continues when both servers are killed, one after the other", { tags: "long" }, async () => {
  await using there = await ServerProcess.create();
  await using wayThere = await FaultProxy.start(await there.start());
  vi.stubEnv("TROUPE_REMOTE", `${wayThere.url}/ticker`);
  await using here = await ServerProcess.create(NEAR);
  await using way = await FaultProxy.start(await here.start());
  const events: Event[] = [];
  for await (const event of createClient(way.url).agent("boss").chat(COUNT)) {
    events.push(event);
    if (event.type !== "TextOutput") continue;
    if (event.content === "5\n" || event.content === "20\n") way.lead(await here.restart());
    if (event.content === "12\n") wayThere.lead(await there.restart());
  }
  expect(numbersIn(events)).toEqual(NUMBERS);
  expect(events.at(-1)).toMatchObject({ finish_reason: "success", result: "counted" });
});

test(
  "a question is still open after its asker was killed, and its answer arrives once",
  { tags: "long" },
  async () => {
    await using there = await start({ agents: [payments] });
    vi.stubEnv("TROUPE_REMOTE", `${there.url}/payments`);
    await using here = await ServerProcess.create(NEAR);
    await using way = await FaultProxy.start(await here.start());
    const asked = createClient(way.url).agent("payments").chat("pay 3 to bob");
    await expect(asked).rejects.toMatchObject({ code: "waiting" });
    way.lead(await here.restart());
    way.reset();
    await expect(asked).rejects.toMatchObject({ code: "waiting" });
    await asked.waits[0]?.answer({ approved: true });
    expect(await asked).toBe("Paid 3 to bob.");
    const { runs } = await there.runtime.runs({ limit: 10 });
    expect(runs).toMatchObject([{ turns: 1, status: "idle" }]);
  },
);

function numbersIn(events: readonly Event[]): readonly string[] {
  return ofType(events, "TextOutput")
    .map(({ content }) => content)
    .filter((content) => content !== "counted");
}
