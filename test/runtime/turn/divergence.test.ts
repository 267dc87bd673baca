import { defineAgent } from "troupe";
import type { Agent, Turn } from "troupe";
import { expect, test } from "vitest";
import { TestHost, asked } from "../test-host.ts";

const speaker = (chat: (turn: Turn) => Promise<unknown>): Agent =>
  defineAgent({
    name: "speaker",
    purpose: "Does the same each time, if its code stays.",
    chat: async (_input, turn) => void (await chat(turn)),
  });

/** Does not end, and is made again after a crash. */
const rest = (turn: Turn): Promise<unknown> =>
  turn.effect("rest", () => new Promise<void>(() => {}), { effect: "idempotent" });

/** What the code has done, what it does after a change, and the difference in words. */
const changes: readonly [
  string,
  (turn: Turn) => Promise<unknown>,
  (turn: Turn) => Promise<unknown>,
  string,
][] = [
  [
    "a text in place of a call",
    async (turn) => {
      await turn.effect("pay", () => 1);
      await rest(turn);
    },
    (turn) => turn.text("Paid."),
    'did: text "Paid."; the log has: call pay {}',
  ],
  [
    "a call in place of a text",
    async (turn) => {
      await turn.text("Paid.");
      await rest(turn);
    },
    (turn) => turn.effect("pay", () => 1),
    'did: call pay {}; the log has: text "Paid."',
  ],
  [
    "another text",
    async (turn) => {
      await turn.text("Paid.");
      await rest(turn);
    },
    (turn) => turn.text("Not paid."),
    'did: text "Not paid."; the log has: text "Paid."',
  ],
  ["an earlier end", rest, async () => {}, "did: the end; the log has: call rest {}"],
];

test.each(changes)(
  "a turn whose code now does %s is held with both in words",
  async (_, before, after, words) => {
    const host = new TestHost({ agents: [speaker(before)] });
    await host.ask("speaker", { type: "ChatRequest", input: "", request_id: asked });
    await host.environment.advance(0);
    await host.restart([speaker(after)]);
    await host.environment.advance(0);
    expect((await host.events(asked)).at(-1)).toMatchObject({
      type: "RequestHeld",
      code: "nondeterministic",
      message: expect.stringContaining(words) as string,
    });
  },
);
