import { defineAgent, topic } from "troupe";
import { describe, expect, test } from "vitest";
import type { DeadLetter } from "troupe";
import { z } from "zod";
import { TestHost } from "../test-host.ts";

const news = topic("news");

/** Fails as long as it is told to; takes only short notes. */
function shop(isBroken: () => boolean) {
  return defineAgent({
    name: "shop",
    purpose: "Takes orders.",
    memorySchema: z.array(z.string()).default([]),
    messages: { headline: z.string().max(5) },
    operations: (own) => ({
      order: own({
        input: z.object({ thing: z.string().max(5) }),
        run({ thing }, turn) {
          if (isBroken()) throw new Error("the till is broken");
          turn.memory.set([...turn.memory.get(), thing]);
        },
      }),
      listen: own({ input: z.object({}), run: (_input, turn) => turn.subscribe(news, "headline") }),
      orders: own({ read: true, input: z.object({}), run: (_input, turn) => turn.memory.get() }),
    }),
  });
}

class Town {
  isBroken = true;
  readonly shop = shop(() => this.isBroken);
  readonly buyer = defineAgent({
    name: "buyer",
    purpose: "Tells the shop what it wants.",
    operations: (own) => ({
      buy: own({
        input: z.object({ thing: z.string() }),
        run: async ({ thing }, turn) => {
          await turn.tell(turn.actor(this.shop, "main"), "order", { thing }).catch(() => {});
        },
      }),
      /** Tells the shop many things that it does not take. */
      buy_badly: own({
        input: z.object({ times: z.number() }),
        run: async ({ times }, turn) => {
          for (let at = 0; at < times; at += 100)
            await Promise.allSettled(
              Array.from({ length: 100 }, (_, index) =>
                turn.tell(turn.actor(this.shop, "main"), "order", { thing: `too long ${at + index}` }),
              ),
            );
        },
      }),
      ask: own({
        input: z.object({ thing: z.string() }),
        run: ({ thing }, turn) => turn.ask(turn.actor(this.shop, "main"), "order", { thing }),
      }),
    }),
  });
  readonly host = new TestHost({ agents: [this.shop, this.buyer] });

  buy(thing: string, operation = "buy") {
    return this.host.ask("buyer", { type: "OperationRequest", operation, input: { thing }, key: "ada" });
  }

  orders(): Promise<readonly string[]> {
    return this.host.runtime.ask(this.shop, "orders", {}, { key: "main" });
  }

  async letters() {
    return this.host.runtime.deadLetters();
  }
}

function onlyOf([letter]: readonly DeadLetter[]): DeadLetter {
  if (letter === undefined) throw new Error("there is no dead letter");
  return letter;
}

describe("a dead letter", () => {
  test("is a tell whose turn has failed; sent again, it counts once", async () => {
    const town = new Town();
    await town.buy("tea");
    const letters = await town.letters();
    expect(letters).toMatchObject([
      {
        kind: "failed",
        agent: "shop",
        key: "main",
        operation: "order",
        input: { thing: "tea" },
        sender: { agent: "buyer", key: "ada" },
        error: { code: "agent_error", message: "the till is broken" },
      },
    ]);
    town.isBroken = false;
    const { run_id: runId, request_id: requestId } = onlyOf(letters);
    await town.host.restart();
    const first = town.host.runtime.sendAgain(runId, requestId);
    const second = town.host.runtime.sendAgain(runId, requestId);
    await town.host.environment.idle();
    expect(await second).toEqual(await first);
    await town.host.restart();
    expect(await town.host.runtime.sendAgain(runId, requestId)).toEqual(await first);
    await town.host.environment.idle();
    expect(await town.orders()).toEqual(["tea"]);
    expect(await town.letters()).toEqual([]);
  });

  test("that fails again is a dead letter again", async () => {
    const town = new Town();
    await town.buy("tea");
    const { run_id: runId, request_id: requestId } = onlyOf(await town.letters());
    const { requestId: again } = await town.host.runtime.sendAgain(runId, requestId);
    await town.host.environment.idle();
    expect(await town.letters()).toMatchObject([{ kind: "failed", request_id: again }]);
  });

  test("is a tell that was not taken; it can be dismissed", async () => {
    const town = new Town();
    await town.buy("much too long");
    const letters = await town.letters();
    expect(letters).toMatchObject([
      {
        kind: "refused",
        agent: "shop",
        key: "main",
        input: { thing: "much too long" },
        error: { code: "invalid_input" },
      },
    ]);
    const { run_id: runId, request_id: requestId } = onlyOf(letters);
    await expect(town.host.runtime.sendAgain(runId, requestId)).rejects.toMatchObject({
      code: "unprocessable",
    });
    expect(await town.letters()).toHaveLength(1);
    await town.host.runtime.dismiss(runId, requestId);
    await town.host.runtime.dismiss(runId, requestId);
    expect(await town.letters()).toEqual([]);
    await expect(town.host.runtime.sendAgain(runId, requestId)).rejects.toMatchObject({ code: "not_found" });
  });

  test("is a publication that a subscriber did not take", async () => {
    const town = new Town();
    await town.host.ask("shop", { type: "OperationRequest", operation: "listen", input: {}, key: "main" });
    await town.host.runtime.publish(news, "headline", "much too long");
    await town.host.environment.idle();
    expect(await town.letters()).toMatchObject([
      { kind: "refused", agent: "shop", key: "main", operation: "headline", input: "much too long" },
    ]);
  });

  test(
    "is dropped when its run has a thousand newer ones, also after a restart",
    { tags: "long" },
    async () => {
      const town = new Town();
      const buy = (times: number) =>
        town.host.ask("buyer", {
          type: "OperationRequest",
          operation: "buy_badly",
          input: { times },
          key: "ada",
        });
      await buy(1_000);
      await town.host.environment.advance(2_000);
      await town.host.restart();
      await buy(400);
      await town.host.environment.advance(2_000);
      const entries = await town.host.log.outbox({ kind: "dead" });
      expect(entries.length).toBeGreaterThanOrEqual(1_000);
      expect(entries.length).toBeLessThanOrEqual(1_100);
      const letters = await town.letters();
      expect(letters).toHaveLength(1_000);
      expect(letters[0]?.input).toEqual({ thing: "too long 399" });
    },
  );

  test("is not what somebody waits for, and does not keep its run from being removed", async () => {
    const town = new Town();
    await town.buy("tea", "ask");
    expect(await town.letters()).toEqual([]);
    await town.buy("tea");
    await town.host.environment.advance(2_000);
    const { run_id: runId } = onlyOf(await town.letters());
    await town.host.runtime.removeRun(runId);
    expect(await town.letters()).toEqual([]);
  });
});
