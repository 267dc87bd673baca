import { defineAgent, defineTool } from "troupe";
import type { Agent } from "troupe";
import { expect, test } from "vitest";
import { z } from "zod";
import type { ArtifactId } from "../../src/protocol/ids.ts";
import type { ForeignPlace } from "../../src/runtime/foreign.ts";
import { World } from "./world.ts";

async function* noBytes(): AsyncGenerator<Uint8Array, void> {}

test("an agent elsewhere that goes on when its call has ended keeps no turn from waiting, and gives it no files", async () => {
  const places: ForeignPlace[] = [];
  const elsewhere: Agent = {
    ...defineAgent({ name: "elsewhere", purpose: "Never answers.", chat() {} }),
    foreign: {
      known: true,
      ready: async () => {},
      perform: (_, place) => {
        places.push(place);
        return new Promise(() => {});
      },
      abandon() {},
    },
  };
  const boss = defineAgent({
    name: "boss",
    purpose: "Has somebody fail, and asks.",
    uses: { elsewhere },
    tools: [
      defineTool({
        name: "fail",
        description: "Calls somebody and fails.",
        input: z.object({}),
        async run(_, turn) {
          turn.call(elsewhere, "chat", { input: "work" }).catch(() => {});
          await turn.sleep(10);
          throw new Error("it failed");
        },
      }),
    ],
    async chat(_, turn) {
      const [fail] = boss.tools;
      if (fail) await turn.tool(fail as never, {}).catch(() => {});
      await turn.waitForInput({ go: "Go on?" });
    },
  });
  const world = new World({ agents: [boss, elsewhere] });
  const { requestId } = await world.ask("boss", { type: "ChatRequest", input: "begin" });
  await world.environment.advance(10);
  const [place] = places;
  expect(place?.signal.aborted).toBe(true);
  place?.began(place.newCall(), "tool", { agent: "elsewhere", depth: 0 });
  place?.busy(true);
  const file = {
    artifactId: "late" as ArtifactId,
    name: "late.txt",
    mimeType: "text/plain",
    body: noBytes(),
  };
  await expect(place?.store(file)).rejects.toThrow("aborted");
  expect(await world.artifacts.get(file.artifactId)).toBeUndefined();
  await world.environment.advance(3_600_000);

  expect(await world.runtime.status(requestId)).toMatchObject({ status: "waiting" });
});
