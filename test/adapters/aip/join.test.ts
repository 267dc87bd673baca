import { createRuntime } from "troupe";
import type { Agent } from "troupe";
import { expect, test } from "vitest";
import { echo } from "../../../agents/echo.ts";
import { payments } from "../../../agents/payments.ts";
import { joinAipGateway } from "../../../src/adapters/aip/index.ts";
import type { AipNode, JoinAipGatewayOptions } from "../../../src/adapters/aip/index.ts";
import { speaker } from "./peers/agents.ts";
import { statusOf, textOf } from "./peers/client.ts";
import { ManualClock } from "./peers/manual-clock.ts";
import { start } from "./peers/start.ts";

/** Joins the gateway with a runtime of its own. */
async function join(
  agents: readonly Agent[],
  options: JoinAipGatewayOptions,
): Promise<AipNode & AsyncDisposable> {
  const runtime = createRuntime({ agents });
  const node = await joinAipGateway(runtime, options).catch(async (thrown: unknown) => {
    await runtime.close();
    throw thrown;
  });
  return {
    ...node,
    async [Symbol.asyncDispose]() {
      await node.stop();
      await runtime.close();
    },
  };
}

test("3 each agent of a node has an address of its own, and is called through the gateway", async () => {
  await using far = await start([speaker]);
  const { gateway, client } = far;
  {
    await using node = await join([echo, payments], { gateway: gateway.address });
    expect(gateway.agents().map(({ agent_id: id }) => id)).toEqual(["speaker", "echo", "payments"]);
    const [, one, two] = gateway.agents();
    expect(one?.address).not.toBe(two?.address);
    expect([...node.addresses.values()]).toEqual([one?.address, two?.address]);
    const session = client.session({ receiver_id: "payments" });
    session.start("pay 30 to bob");
    expect(statusOf(await session.next())).toBe("holdResponse WAITING");
    session.hold("yes");
    session.stop();
    expect((await session.all()).map(textOf)).toEqual(["Paid 30 to bob.", ""]);
  }
  expect(gateway.agents().map(({ agent_id: id }) => id)).toEqual(["speaker"]);
});

test("8 a node stays registered by its heartbeats", async () => {
  const clock = new ManualClock();
  await using far = await start([speaker], { clock });
  const own = new ManualClock();
  await using node = await join([echo], { gateway: far.gateway.address, clock: own });
  expect(node.addresses.size).toBe(1);
  for (let beats = 1; beats <= 4; beats += 1) {
    clock.advance(10_000);
    own.advance(10_000);
    // The next pause begins after the answer to the heartbeat.
    await own.started(10_000, beats + 1);
    expect(far.gateway.agents()).toHaveLength(2);
  }
});

test("8 a node registers again at a gateway that has lost it", async () => {
  await using far = await start([speaker]);
  const own = new ManualClock();
  await using node = await join([echo], { gateway: far.gateway.address, clock: own });
  expect(node.addresses.size).toBe(1);
  await far.client.call("DeregisterNode", "DeregisterNodeRequest", "DeregisterNodeResponse", {
    node_id: "echo",
  });
  expect(far.gateway.agents()).toHaveLength(1);
  own.advance(10_000);
  await own.started(10_000, 2);
  expect(far.gateway.agents()).toHaveLength(2);
});

test("8 a node registers again after three failed heartbeats, when the gateway is back", async () => {
  const reports: string[] = [];
  const far = await start([speaker]);
  const { address } = far.gateway;
  const own = new ManualClock();
  await using node = await join([echo], {
    gateway: address,
    clock: own,
    report: (message) => reports.push(message),
  });
  expect(node.addresses.size).toBe(1);
  await far[Symbol.asyncDispose]();
  for (let beats = 1; beats <= 3; beats += 1) {
    expect(reports).toEqual([]);
    own.advance(10_000);
    await own.started(10_000, beats + 1);
  }
  expect(reports).toEqual([expect.stringContaining(`the AIP gateway ${address} has lost agent echo`)]);
  await using again = await start([speaker], { host: address });
  for (let beats = 4; again.gateway.agents().length < 2; beats += 1) {
    own.advance(10_000);
    await own.started(10_000, beats + 1);
  }
});

test("4 a node waits for the end of a lease that an earlier process has left", async () => {
  const clock = new ManualClock();
  await using far = await start([speaker], { clock });
  const own = new ManualClock();
  const first = createRuntime({ agents: [echo] });
  await using node = await join([echo], { gateway: far.gateway.address, clock: new ManualClock() });
  expect(node.addresses.size).toBe(1);
  const second = joinAipGateway(first, { gateway: far.gateway.address, clock: own });
  await own.started(5_000);
  clock.advance(40_000);
  own.advance(5_000);
  await (await second).stop();
  await first.close();
});

test("a node that the gateway does not take says why", async () => {
  await using far = await start([speaker]);
  const own = new ManualClock();
  const joined = join([speaker], { gateway: far.gateway.address, clock: own });
  joined.catch(() => {});
  for (let tries = 1; tries <= 9; tries += 1) {
    await own.started(5_000, tries);
    own.advance(5_000);
  }
  await expect(joined).rejects.toMatchObject({
    code: "unavailable",
    message: `the gateway ${far.gateway.address} does not take speaker: Agent [speaker] already registered.`,
  });
});

test.each([
  [{ gateway: "nowhere" }, "invalid_request"],
  [{ gateway: "127.0.0.1:1" }, "unavailable"],
  [{ gateway: "127.0.0.1:1", host: "0.0.0.0:0" }, "forbidden"],
  [{ gateway: "127.0.0.1:1", agents: ["nobody"] }, "not_found"],
])("joining with %j is refused", async (options, code) => {
  await expect(join([echo], options)).rejects.toMatchObject({ code });
});
