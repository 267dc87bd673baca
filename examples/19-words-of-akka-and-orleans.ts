// Words of the manuals of Akka and Orleans in one small shop: priority mailbox, a queue that keeps the newest, event stream, death
// watch, dead letters, and reminders. What failed and who supervises is in 17-restart-escalate-stop.ts.
import assert from "node:assert/strict";
import { createRuntime, defineAgent, ended, topic } from "troupe";
import { manualEnvironment } from "troupe/testing";
import { z } from "zod";

const notes = z.array(z.string()).default([]);
const nothing = z.object({});

/** Akka: `EventStream`, `DistributedPubSub`; Orleans: a stream. A new subscriber gets the newest publication. */
const prices = topic("prices", { retain: 1 });

/** Akka: `UnboundedPriorityMailbox`; of several wishes of one customer, only the newest waits. */
const till = defineAgent({
  name: "till",
  purpose: "Serves customers.",
  memorySchema: notes,
  mailbox: { capacity: 100, coalesce: (input) => (input as { readonly customer?: string }).customer },
  operations: (own) => ({
    open: own({ input: nothing, run: (_, turn) => turn.sleep(1_000) }),
    serve: own({
      input: z.object({ customer: z.string(), wish: z.string() }),
      run: ({ customer, wish }, turn) => turn.memory.set([...turn.memory.get(), `${customer}: ${wish}`]),
    }),
    alarm: own({
      priority: 1,
      input: nothing,
      run: (_, turn) => turn.memory.set([...turn.memory.get(), "alarm"]),
    }),
    refund: own({
      input: nothing,
      run(): void {
        throw new Error("the till is empty");
      },
    }),
    seen: own({ read: true, input: nothing, run: (_, turn) => turn.memory.get() }),
  }),
});

const stock = defineAgent({
  name: "stock",
  purpose: "Is counted.",
  memorySchema: z.number().default(0),
  operations: (own) => ({
    count: own({ input: nothing, run: (_, turn) => turn.memory.set(turn.memory.get() + 1) }),
    counted: own({ read: true, input: nothing, run: (_, turn) => turn.memory.get() }),
  }),
});

const clerk = defineAgent({
  name: "clerk",
  purpose: "Follows prices, watches a till, and has the stock counted.",
  memorySchema: notes,
  operations: (own) => ({
    begin: own({
      input: nothing,
      async run(_, turn) {
        await turn.subscribe(prices, "price");
        // Akka: `context.watch(till)`.
        await turn.watch(turn.actor(till, "front"), { failed: true });
        await turn.tell(turn.actor(till, "front"), "refund", {});
        // Orleans: `RegisterOrUpdateReminder("stock", …)`; Akka: `timers.startTimerAtFixedRate`.
        await turn.schedule(turn.actor(stock, "shop"), "count", {}, { everyMs: 60_000, id: "stock" });
      },
    }),
    // Orleans: `GetReminders()`, `UnregisterReminder`.
    reminders: own({
      input: nothing,
      run: async (_, turn) => (await turn.schedules(turn.actor(stock, "shop"))).map(({ id }) => id),
    }),
    unregister: own({
      input: nothing,
      run: (_, turn) => turn.unschedule("stock", turn.actor(stock, "shop")),
    }),
    price: own({
      input: z.object({ cents: z.int() }),
      run: ({ cents }, turn) => turn.memory.set([...turn.memory.get(), `price ${cents}`]),
    }),
    // Akka: `Terminated`, for each turn that fails, because an actor never ends.
    ended: own({
      input: ended,
      run: ({ error }, turn) => turn.memory.set([...turn.memory.get(), `till: ${error?.message ?? ""}`]),
    }),
    seen: own({ read: true, input: nothing, run: (_, turn) => turn.memory.get() }),
  }),
});

const environment = manualEnvironment();
const runtime = createRuntime({ agents: [till, stock, clerk], environment });
await runtime.ready();
const front = runtime.actor(till, "front");
const ann = runtime.actor(clerk, "ann");

/** Asks, and lets the clock run until nothing is left to do. */
async function answerOf<Answer>(asked: Promise<Answer>): Promise<Answer> {
  await environment.idle();
  return asked;
}

// While the till opens, work comes in. The alarm is done first, and of Bob's wishes only the last one.
await front.tell("open", {});
await front.tell("serve", { customer: "ada", wish: "tea" });
await front.tell("serve", { customer: "bob", wish: "milk" });
await front.tell("serve", { customer: "bob", wish: "coffee" });
await front.tell("alarm", {});
await environment.advance(2_000);
assert.deepEqual(await front.ask("seen", {}), ["alarm", "ada: tea", "bob: coffee"]);

// The clerk subscribes after the first price, and gets it: the topic retains the newest. What it told the till has failed.
await runtime.publish(prices, "price", { cents: 120 });
await ann.tell("begin", {});
await environment.advance(1_000);
await runtime.publish(prices, "price", { cents: 130 });
await environment.advance(1_000);
const heard = await ann.ask("seen", {});
assert.deepEqual([...heard].sort(), ["price 120", "price 130", "till: the till is empty"]);

// The sender of a tell waits for no answer, so a tell that fails becomes a dead letter.
const [letter] = await runtime.deadLetters();
assert.equal(letter?.operation, "refund");
assert.equal(letter.error?.message, "the till is empty");
await runtime.dismiss(letter.run_id, letter.request_id);
assert.deepEqual(await runtime.deadLetters(), []);

// Reminders come each minute, until they are unregistered.
assert.deepEqual(await answerOf(ann.ask("reminders", {})), ["stock"]);
await environment.advance(3 * 60_000);
await answerOf(ann.ask("unregister", {}));
await environment.advance(3 * 60_000);
assert.equal(await runtime.actor(stock, "shop").ask("counted", {}), 3);
assert.deepEqual(await answerOf(ann.ask("reminders", {})), []);
await runtime.close();
for (const line of heard) console.log(line);
