import { defineAgent, operation } from "troupe";
import type { Turn } from "troupe";
import { z } from "zod";

const counting = z.object({
  to: z.int().min(1).max(100_000).describe("the last number"),
  every_ms: z.int().min(0).max(86_400_000).describe("milliseconds between two numbers"),
});

/** Counts at a fixed interval until it is done or canceled. */
export const ticker = defineAgent({
  name: "ticker",
  purpose: "Counts up to a number, with a pause between numbers.",

  async chat(input, turn) {
    const [, to, everyMs] = /^(\d+) (\d+)$/.exec(input) ?? [];
    const asked = counting.safeParse({ to: Number(to), every_ms: Number(everyMs) });
    if (asked.success) return count(asked.data, turn);
    await turn.text(
      'Give me two whole numbers, how far to count and the milliseconds between, as in "10 1000".',
    );
  },

  operations: {
    count: operation({ description: "Counts up to a number.", input: counting, run: count }),
  },
});

async function count({ to, every_ms }: z.infer<typeof counting>, turn: Turn): Promise<void> {
  for (let number = 1; number <= to; number += 1) {
    if (number > 1) await turn.sleep(every_ms);
    await turn.text(`${number}\n`);
  }
}
