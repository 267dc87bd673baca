/** @module-tag long */
import { createRuntime, defineAgent } from "troupe";
import type { Turn } from "troupe";
import { nodeEnvironment } from "troupe/node";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { needsPostgres } from "../../machine/postgres.ts";
import { openEmpty } from "./logs.ts";

needsPostgres();

/** A duration that code has computed, longer than the shortest one that the log stores a wake time for. */
const FRACTION_MS = 6_000.4;

const rests = {
  sleeps: (turn) => turn.sleep(FRACTION_MS),
  receives: (turn) => turn.receive("go", { timeoutMs: FRACTION_MS }),
  asks: (turn) => turn.waitForInput({ name: "Who?" }, { timeoutMs: FRACTION_MS }),
} satisfies Readonly<Record<string, (turn: Turn) => Promise<unknown>>>;

test("turns that are parked for a fraction of a millisecond are stored, and end", async () => {
  const log = await openEmpty();
  const agents = Object.entries(rests).map(([name, rest]) =>
    defineAgent({
      name,
      purpose: "Rests for a computed time.",
      messages: { go: z.unknown() },
      async chat(_input, turn) {
        await rest(turn).catch(() => {});
        await turn.text("Awake.");
      },
    }),
  );
  const runtime = createRuntime({ agents, log, environment: nodeEnvironment() });
  onTestFinished(() => runtime.close());
  const ask = async (name: string) =>
    (await runtime.process(name, { type: "ChatRequest", input: "" })).requestId;
  const asked = await Promise.all(Object.keys(rests).map(ask));
  const asleep = async () => (await log.waking({})).map(({ requestId }) => requestId);
  await expect.poll(asleep).toEqual(expect.arrayContaining(asked));
  for (const id of asked) await expect.poll(async () => (await runtime.status(id)).status).toBe("completed");
});
