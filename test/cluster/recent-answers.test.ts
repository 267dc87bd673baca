import { expect, test } from "vitest";
import type { EnvelopeAnswer } from "../../src/cluster/envelope.ts";
import { RecentAnswers } from "../../src/cluster/envelope.ts";

test("large answers are kept up to a number of bytes, the newest ones", async () => {
  const recent = new RecentAnswers();
  let handled = 0;
  const take = (id: string, length: number): Promise<EnvelopeAnswer> =>
    recent.once(id, async () => {
      handled += 1;
      return { type: "reply", reply: { event: "x".repeat(length) } };
    });
  for (let id = 0; id < 20; id += 1) await take(`large ${id}`, 1_048_576);
  await take("large 19", 0);
  expect(handled).toBe(20);
  await take("large 0", 1_048_576);
  expect(handled).toBe(21);
});

test("small answers are kept up to a number, and one that handled nothing is not kept", async () => {
  const recent = new RecentAnswers();
  let handled = 0;
  const take = (id: string, answer: EnvelopeAnswer): Promise<EnvelopeAnswer> =>
    recent.once(id, async () => {
      handled += 1;
      return answer;
    });
  for (let id = 0; id < 10_000; id += 1) await take(`small ${id}`, { type: "reply", reply: null });
  await take("small 0", { type: "reply", reply: null });
  expect(handled).toBe(10_000);
  await take("moved", { type: "moved" });
  await take("moved", { type: "moved" });
  expect(handled).toBe(10_002);
  await take("one more", { type: "reply", reply: null });
  await take("small 0", { type: "reply", reply: null });
  expect(handled).toBe(10_004);
});
