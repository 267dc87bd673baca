// Streams in the words of Orleans' manual: a producer gets a stream by its id and calls `OnNextAsync`; grains subscribe, implicitly or by
// `SubscribeAsync`, and get each event once and in order; a client subscribes too, keeps its token, and resumes with it.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createRuntime, defineAgent, topic } from "troupe";
import { createTopicClient } from "troupe/client";
import { serve } from "troupe/node";
import { z } from "zod";

/** Orleans: `streamProvider.GetStream<Reading>(StreamId.Create("sensors", room))`; the type is the schema. */
const sensors = topic("sensors", {
  messages: { reading: z.object({ room: z.string(), celsius: z.number() }) },
});

/** Orleans: a grain with `OnNextAsync`. It stays subscribed when it is deactivated. */
const thermostat = defineAgent({
  name: "thermostat",
  purpose: "Heats a room.",
  memorySchema: z.array(z.number()).default([]),
  operations: (own) => ({
    // Orleans: `OnActivateAsync` with `stream.SubscribeAsync(this)`.
    activate: own({ input: z.object({}), run: (_, turn) => turn.subscribe(sensors, "reading") }),
    reading: own({
      input: sensors.messages.reading,
      run({ room, celsius }, turn) {
        if (room === turn.self.key) turn.memory.set([...turn.memory.get(), celsius]);
      },
    }),
    // Orleans: `handle.UnsubscribeAsync()`.
    deactivate: own({ input: z.object({}), run: (_, turn) => turn.unsubscribe(sensors) }),
    seen: own({ read: true, input: z.object({}), run: (_, turn) => turn.memory.get() }),
  }),
});

const runtime = createRuntime({ agents: [thermostat], topics: [sensors] });
const server = await serve(runtime, { port: 0 });
const client = createTopicClient(server.url);

const kitchen = runtime.actor(thermostat, "kitchen");
await kitchen.ask("activate", {});
await runtime.actor(thermostat, "attic").ask("activate", {});
assert.equal((await client.get("sensors")).subscriber_count, 2);

// Orleans: `stream.OnNextAsync(reading)`, from a grain by `turn.publish`, or from a client.
await client.publish(sensors, "reading", { room: "kitchen", celsius: 18 });
await client.publish(sensors, "reading", { room: "attic", celsius: 12 });
await client.publish(sensors, "reading", { room: "kitchen", celsius: 19 });

// What does not fit the stream is refused, whoever sends it.
await assert.rejects(client.publish("sensors", "reading", { room: "kitchen" }), { code: "unprocessable" });

// Each grain gets each event once and in order. A reading is a turn of its own, so this waits for the last one.
while ((await kitchen.ask("seen", {})).length < 2) await pause(5);
assert.deepEqual(await kitchen.ask("seen", {}), [18, 19]);

// A client subscribes with a token (the position of an event), and loses nothing in between.
const [newest] = await runtime.topics.newest("sensors");
assert.ok(newest);
for (const celsius of [20, 21]) await client.publish(sensors, "reading", { room: "kitchen", celsius });
const read: number[] = [];
for await (const { body } of client.subscribe(sensors, { after: newest })) {
  read.push(body.celsius);
  if (read.length === 2) break;
}
assert.deepEqual(read, [20, 21]);

await kitchen.ask("deactivate", {});
assert.equal((await client.get("sensors")).subscriber_count, 1);
console.log(`the kitchen was told ${(await kitchen.ask("seen", {})).join(", ")}`);
await runtime.close();
await server.close({ graceMs: 1_000 });
