import { defineAgent } from "troupe";
import type { Agent, Turn } from "troupe";
import { expect, test } from "vitest";
import { textsOf } from "../../agents/events.ts";
import { TestHost, asked, chat } from "../test-host.ts";

function agent(handler: (turn: Turn) => Promise<void>): Agent {
  return defineAgent({
    name: "order",
    purpose: "Takes an order.",
    chat: async (_input, turn) => handler(turn),
  });
}

const before = agent(async (turn) => {
  await turn.text("a");
  await turn.waitForInput({ ok: "?" });
  await turn.text("z");
});

/** The change: another text before the question. */
const patched = agent(async (turn) => {
  await turn.text("a");
  if (turn.patched("more")) await turn.text("b");
  await turn.waitForInput({ ok: "?" });
  await turn.text(turn.patched("more") ? "y" : "z");
});

/** When no turn before the change is open. */
const after = agent(async (turn) => {
  await turn.text("a");
  await turn.text("b");
  await turn.waitForInput({ ok: "?" });
  await turn.text("y");
});

const answer = { type: "ResumeWithInput", request_id: asked, request_keys: { ok: true } } as const;

async function textsOfLife(...lives: readonly Agent[]): Promise<readonly string[]> {
  const [first = before, ...others] = lives;
  const host = new TestHost({ agents: [first] });
  await host.ask("order", chat);
  for (const life of others) await host.restart([life]);
  await host.ask("order", answer);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "completed", finish_reason: "success" });
  await host.restart();
  return textsOf(await host.events(asked));
}

test("a turn that passed the place before the patch keeps the old path, also after another restart", async () => {
  expect(await textsOfLife(before, patched)).toEqual(["a", "z"]);
  expect(await textsOfLife(before, patched, patched)).toEqual(["a", "z"]);
});

test("a turn that comes to the patch first takes the new path, also after a restart", async () => {
  expect(await textsOfLife(patched)).toEqual(["a", "b", "y"]);
  expect(await textsOfLife(patched, patched)).toEqual(["a", "b", "y"]);
});

test("the patch can be removed when no older turn is open", async () => {
  expect(await textsOfLife(patched, after)).toEqual(["a", "b", "y"]);
});

test("a turn before the change that meets code without the patch is held", async () => {
  const host = new TestHost({ agents: [before] });
  await host.ask("order", chat);
  await host.restart([after]);
  await host.ask("order", answer);
  expect(await host.runtime.status(asked)).toMatchObject({ status: "held" });
  await host.restart([patched]);
  expect(textsOf(await host.events(asked))).toEqual(["a", "z"]);
});
