import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ResponseObject } from "../../src/adapters/agentscope/index.ts";
import { createClerk } from "../agents/clerk.ts";
import { dataOf } from "../adapters/agentscope/harness/objects.ts";
import { ServerProcess } from "../flows/server.ts";
import { serveWires } from "./serve-wires.ts";
import type { Addresses } from "./serve-wires.ts";
import { eventsOf, getText, post, quest, wires } from "./wires.ts";
import type { Event, Run, Wire } from "./wires.ts";
import { shortened } from "../machine/long.ts";

const PROGRAM = fileURLToPath(new URL("server-program.ts", import.meta.url));

let directory: string;
let server: Awaited<ReturnType<typeof serveWires>>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "troupe-wires-"));
  server = await serveWires(directory);
});

afterAll(async () => {
  await server.close();
  await rm(directory, { recursive: true });
});

/** Begins a run over a wire and names it for all others. */
async function begin(wire: Wire, at: Addresses, agent: string, text: string): Promise<Run> {
  const requestId = await wire.begin(at, agent, text);
  const { run_id } = JSON.parse(await getText(`${at.url}/request/${requestId}`)) as {
    readonly run_id: string;
  };
  return { agent, runId: run_id, requestId };
}

/** How often a request began and ended in the log. */
async function ends(at: Addresses, { requestId }: Run): Promise<readonly number[]> {
  const events = await eventsOf(at, requestId);
  return ["RequestStarted", "RequestCompleted"].map(
    (type) => events.filter((event) => event.type === type).length,
  );
}

test("a payment is asked for over AgentScope, read over the classic protocol, approved natively, and its result is read over AIP", async () => {
  const { url } = server;
  const asked = await post<ResponseObject & { readonly session_id: string }>(
    `${url}/agentscope/payments/process`,
    { input: [{ role: "user", content: [{ type: "text", text: "pay 30 to bob" }] }], stream: false },
  );
  expect(dataOf(asked, "mcp_approval_request")).toHaveLength(1);
  const { id: request_id, session_id: runId } = asked;

  const { steps } = JSON.parse(await getText(`${url}/payments/ap/v1/agent/tasks/${runId}/steps`)) as {
    readonly steps: readonly object[];
  };
  expect(steps).toMatchObject([
    { output: "Pay 30 to bob?", is_last: false, additional_output: { request_id } },
  ]);

  const answer = { type: "ResumeWithInput", request_id, request_keys: { approved: true } };
  const paid = await post<Event>(`${url}/payments/process?wait=completed`, answer);
  expect(paid).toMatchObject({ type: "RequestCompleted", result: "Paid 30 to bob." });

  const run = { agent: "payments", runId, requestId: request_id };
  expect(await quest(server, run)).toEqual({
    status: "holdResponse FINISH",
    text: "Paid 30 to bob.",
    taskId: request_id,
  });
  expect(await ends(server, run)).toEqual([1, 1]);
});

const orders = [
  ["name", "colour"],
  ["colour", "name"],
] as const;

test.each(shortened(orders, 1).flatMap((order) => wires.map((wire) => [...order, wire.name, wire] as const)))(
  "two questions are answered %s first, then %s, over %s",
  async (first, second, _name, wire) => {
    const answers = { name: "Ada", colour: "blue" };
    const run = await begin(wire, server, "interviewer", "go");
    await wire.answer(server, run, { [first]: answers[first] });
    const status = JSON.parse(await getText(`${server.url}/request/${run.requestId}`)) as {
      readonly request_keys: object;
    };
    expect(status).toMatchObject({ status: "waiting" });
    expect(Object.keys(status.request_keys)).toEqual([second]);
    expect(await wire.answer(server, run, { [second]: answers[second] })).toBe("Ada likes blue.");
    expect(await ends(server, run)).toEqual([1, 1]);
  },
);

test(
  "kill -9 between question and answer changes nothing that a wire shows, and every wire answers runs of another",
  { tags: "long" },
  async () => {
    await using child = await ServerProcess.create(PROGRAM);
    const toAddresses = (line: string): Addresses => {
      const [url = "", aip = ""] = line.split(" ");
      return { url, aip };
    };
    const before = toAddresses(await child.start());
    const runs = await Promise.all(wires.map((wire) => begin(wire, before, "payments", "pay 30 to bob")));
    const halves = await Promise.all(wires.map((wire) => begin(wire, before, "interviewer", "go")));
    await Promise.all(wires.map((wire, index) => wire.answer(before, at(halves, index), { colour: "blue" })));
    const readAll = (from: Addresses): Promise<readonly unknown[]> =>
      Promise.all([...runs, ...halves].flatMap((run) => wires.map((wire) => wire.read(from, run))));
    const shown = await readAll(before);
    for (const answer of shown) expect(JSON.stringify(answer)).toMatch(/Pay 30 to bob\?|What is your name\?/);

    const after = toAddresses(await child.restart());
    expect(await readAll(after)).toEqual(shown);
    for (const index of wires.keys()) {
      const [wire, run, half] = [at(wires, index + 1), at(runs, index), at(halves, index)];
      expect(await wire.answer(after, run, { approved: true })).toBe("Paid 30 to bob.");
      expect(await wire.answer(after, half, { name: "Ada" })).toBe("Ada likes blue.");
      expect(await ends(after, run)).toEqual([1, 1]);
      expect(await ends(after, half)).toEqual([1, 1]);
    }
  },
);

test.each(shortened(wires, 1).map((wire) => [wire.name, wire] as const))(
  "a turn that is held asks or works in the words of %s, takes answers, and never fails",
  async (_name, wire) => {
    const clerk = createClerk();
    const place = join(directory, `held-${randomUUID()}`);
    const before = await serveWires(place, [clerk.agent]);
    const run = await begin(wire, before, "clerk", "go");
    await before.close();

    clerk.isChanged = true;
    const after = await serveWires(place, [clerk.agent]);
    await wire.answer(after, run, { name: "Ada" });
    expect(await statusOf(after, run)).toMatchObject({
      status: "held",
      request_keys: { colour: "What is your favourite colour?" },
    });
    expect(await wire.stand(after, run, true)).toBe(wire.words.asking);

    const said = wire.answer(after, run, { colour: "blue" });
    await expect.poll(async () => (await statusOf(after, run)).request_keys).toBeUndefined();
    expect(await statusOf(after, run)).toMatchObject({ status: "held" });
    expect(await wire.stand(after, run, false)).toBe(wire.words.working);

    clerk.isChanged = false;
    await post(`${after.url}/runs/${run.runId}/retry`, {});
    expect(await said).toBe("Ada likes blue.");
    expect(await ends(after, run)).toEqual([1, 1]);
    await after.close();
  },
);

test.each(shortened(wires, 1).map((wire) => [wire.name, wire] as const))(
  "a turn whose agent is no longer served asks or works in the words of %s, takes answers, and ends when the agent is back",
  async (_name, wire) => {
    const { agent } = createClerk();
    const place = join(directory, `missing-${randomUUID()}`);
    const before = await serveWires(place, [agent]);
    const run = await begin(wire, before, "clerk", "go");
    const shown = JSON.stringify(await wire.read(before, run));
    await before.close();

    const without = await serveWires(place);
    expect(JSON.stringify(await wire.read(without, run))).toBe(shown);
    await wire.answer(without, run, { name: "Ada" });
    expect(await statusOf(without, run)).toMatchObject({ status: "held" });
    expect(await wire.stand(without, run, true)).toBe(wire.words.asking);
    // The answer takes effect when the agent is back; the wire waits for its end, so that the server ends the wait.
    const said = wire.answer(without, run, { colour: "blue" }).catch(() => {});
    await expect.poll(async () => (await statusOf(without, run)).request_keys).toBeUndefined();
    expect(await statusOf(without, run)).toMatchObject({ status: "held" });
    expect(await wire.stand(without, run, false)).toBe(wire.words.working);
    await without.close();
    await said;

    const after = await serveWires(place, [agent]);
    await expect.poll(() => statusOf(after, run)).toMatchObject({ status: "completed" });
    expect(JSON.stringify(await wire.read(after, run))).toMatch(/Ada likes blue/);
    expect(await ends(after, run)).toEqual([1, 1]);
    await after.close();
  },
);

interface Status {
  readonly status: string;
  readonly request_keys?: object;
}

async function statusOf({ url }: Addresses, { requestId }: Run): Promise<Status> {
  return JSON.parse(await getText(`${url}/request/${requestId}`)) as Status;
}

/** An item of a list that is read in a circle. */
function at<Item>(list: readonly Item[], index: number): Item {
  return list[index % list.length] as Item;
}
