import { defineAgent } from "troupe";
import { expect, test } from "vitest";
import { TestHost, asked } from "../test-host.ts";

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
  const host = new TestHost({ agents: [patient] });
  await host.ask("patient", { type: "ChatRequest", input: "", request_id: asked });

  const restarted = host.restart();
  const answer = host.runtime.process("patient", {
    type: "ResumeWithInput",
    request_id: asked,
    request_keys: { name: "Ann" },
  });
  await restarted;
  await host.environment.advance(1_000);

  await expect(answer).resolves.toMatchObject({ kind: "resume", replayed: false });
  const events = await host.events(asked);
  expect(events.at(-1)).toMatchObject({ type: "RequestCompleted", result: "Ann" });
});
