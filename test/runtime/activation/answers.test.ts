import { defineAgent } from "troupe";
import type { RequestId } from "troupe/protocol";
import { expect, test } from "vitest";
import { World } from "../world.ts";

const asked = "asked" as RequestId;

const patient = defineAgent({
  name: "patient",
  purpose: "Prepares, then asks while it does something else.",
  async chat(_input, turn) {
    for (const step of ["one", "two", "three"]) await turn.effect(step, () => step);
    const answer = turn.waitForInput({ name: "Your name?" });
    await turn.sleep(1_000);
    const { name } = await answer;
    return name as string;
  },
});

test("an answer is accepted before a continued turn has reached its wait again", async () => {
  const world = new World({ agents: [patient] });
  await world.ask("patient", { type: "ChatRequest", input: "", request_id: asked });

  const restarted = world.restart();
  const answer = world.runtime.process("patient", {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { name: "Ann" },
  });
  await restarted;
  await world.environment.advance(1_000);

  await expect(answer).resolves.toMatchObject({ kind: "resume", replayed: false });
  const events = await world.events(asked);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", result: "Ann" });
});
