import { defineAgent } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { textsOf } from "../agents/events.ts";
import { World } from "./world.ts";

const asked = "asked" as RequestId;

test("a turn that sleeps while it waits for an answer goes on sleeping after a crash", async () => {
  const agent = defineAgent({
    name: "patient",
    purpose: "Asks, and goes on without an answer after a while.",
    async chat(_input, turn) {
      const answer = turn.waitForInput({ name: "Your name?" });
      await turn.sleep(1_000);
      await turn.text("I shall not wait any longer.");
      await answer;
    },
  });
  const world = new World({ agents: [agent] });
  await world.ask("patient", { type: "ChatRequest", input: "", request_id: asked });

  await world.restart();
  await world.environment.advance(1_000);

  expect(textsOf(await world.events(asked))).toEqual(["I shall not wait any longer."]);
});
