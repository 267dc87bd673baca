import { defineAgent, ModelError } from "troupe";
import type { Model } from "troupe";
import { createClient } from "troupe/client";
import { expect, test } from "vitest";
import { ticker } from "../../../agents/ticker.ts";
import { payments } from "../../../agents/payments.ts";
import { Gates } from "../gates.ts";
import { textIn, UiServer } from "./harness/server.ts";
import { createStepper } from "./harness/stepper.ts";
import type { UiChat } from "./harness/server.ts";

/** Reads an answer until it has a text, and leaves. */
async function leaveAt(chat: UiChat, text: string): Promise<void> {
  const stop = new AbortController();
  const reader = (await chat.open(undefined, "submit-message", stop.signal)).getReader();
  while (!chat.text.includes(text)) await reader.read();
  await reader.cancel();
  stop.abort();
}

test("a page that leaves in the middle of an answer comes back to the same bytes, as does a second one", async () => {
  const gates = new Gates();
  await using server = await UiServer.start([createStepper(gates)]);
  const chat = server.chat("stepper");
  expect(await chat.resume()).toBeNull();
  gates.get("one").resolve();
  chat.begin("one two three");
  await leaveAt(chat, '"delta":"one "');
  const seen = chat.text;

  const other = server.chat("stepper");
  const [again, beside] = [chat.resume(), other.resume()];
  for (const reader of [chat, other]) await expect.poll(() => reader.text).toContain('"delta":"one "');
  gates.get("two").resolve();
  gates.get("three").resolve();
  const [message] = await Promise.all([again, beside]);
  expect(message && textIn(message)).toBe("one two three ");
  expect(other.text).toBe(chat.text);
  expect(chat.text.startsWith(seen)).toBe(true);
  expect(await chat.resume()).toBeNull();
});

test("a turn that waits is replayed from the start of the message that asks, also after a restart", async () => {
  await using server = await UiServer.start([payments], { durable: true });
  const chat = server.chat("payments");
  const asked = await chat.say("pay 30 to bob");
  const bytes = chat.text;
  expect(await chat.resume()).toEqual(asked);
  expect(chat.text).toBe(bytes.replaceAll(/127\.0\.0\.1:\d+/g, new URL(server.url).host));
  await server.restart();
  expect(await chat.resume()).toEqual(asked);
  expect(chat.text).toBe(bytes);
  expect(textIn(await chat.approve(true))).toBe("Paid 30 to bob.");
});

test("stop cancels what works and what is queued, and a stopped answer ends as one", async () => {
  await using server = await UiServer.start([ticker]);
  const chat = server.chat("ticker");
  chat.begin("1000 600000");
  const running = chat.read(await chat.open());
  const other = server.chat("ticker");
  other.begin("1000 600000");
  const queued = other.say("5 5");
  await expect.poll(async () => (await createClient(server.url).runs()).runs[0]?.queued).toBe(1);
  expect((await chat.stop()).status).toBe(204);
  expect(await running).toMatchObject({ metadata: { finish_reason: "canceled" } });
  expect(chat.text).toContain('"type":"abort"');
  expect(await queued).toMatchObject({ metadata: { finish_reason: "canceled" } });
  expect((await chat.stop()).status).toBe(204);
  expect((await server.chat("ticker", "never").stop()).status).toBe(204);
});

test("a server that stops breaks the connection, so that the page does not take the answer for a whole one", async () => {
  const gates = new Gates();
  gates.get("one").resolve();
  const server = await UiServer.start([createStepper(gates)]);
  const chat = server.chat("stepper");
  chat.begin("one two");
  const read = chat.read(await chat.open()).catch((thrown: unknown) => thrown);
  await expect.poll(() => chat.text).toContain('"delta":"one "');
  await server.closeServer();
  expect(await read).toBeInstanceOf(TypeError);
  gates.get("two").resolve();
  await server.runtime.close();
});

test("what a failed attempt of a completion has said is taken back, and what was said beside it stays", async () => {
  const gates = new Gates();
  const model: Model = {
    name: "flaky",
    async *generate(_input, { attempt }) {
      yield { type: "reasoning", text: `thought ${attempt} ` };
      yield { type: "text", text: `try ${attempt} ` };
      gates.get(`said ${attempt}`).resolve();
      if (attempt === 1) {
        await gates.get("beside").promise;
        throw new ModelError("busy", { code: "model_unavailable", retryAfterMs: 1 });
      }
      yield { type: "result", result: null, usage: { output_tokens: 1 } };
    },
  };
  const double = defineAgent({
    name: "double",
    purpose: "Says two things at once.",
    async chat(_input, turn) {
      await turn.all([
        (own) => own.complete({ model, input: null }),
        async (own) => {
          await gates.get("said 1").promise;
          await own.text("beside ");
          gates.get("beside").resolve();
        },
      ]);
    },
  });
  await using server = await UiServer.start([double]);
  const chat = server.chat("double");
  const told = await chat.say("go");
  expect(chat.text).toContain('"type":"reset-step"');
  expect(told.parts.flatMap((part) => ("text" in part ? part.text : []))).toEqual([
    "beside ",
    "thought 2 ",
    "try 2 ",
  ]);
});
