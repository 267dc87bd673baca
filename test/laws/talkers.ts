import { defineAgent, operation } from "troupe";
import type { Agent, Turn } from "troupe";
import { z } from "zod";

/** What a talker is asked to do: the steps follow from the number, at most `depth` levels of asks and tells deep. */
const input = z.object({ program: z.number(), depth: z.number() });

type Talk = z.infer<typeof input>;

/** The keys of the actors that talk with each other. */
export const TALKERS = ["a", "b", "c"] as const;

/**
 * Creates an actor that asks and tells others of its kind, now or later, leaves some asks, and gives some a deadline. It
 * also tells messages, reads its own, and counts its turns. Its longest time is five seconds, times `scale`.
 */
export function createTalker(scale = 1): Agent {
  const talker: Agent = defineAgent({
    name: "talker",
    purpose: "Talks with other talkers.",
    messages: { note: z.number() },
    operations: { talk: operation({ input, run: (asked, turn) => talk(asked, { turn, talker, scale }) }) },
  });
  return talker;
}

/** A running turn of a talker. */
interface Talking {
  readonly turn: Turn;
  readonly talker: Agent;
  readonly scale: number;
}

async function talk({ program, depth }: Talk, talking: Talking): Promise<unknown> {
  const random = createNumbers(program);
  const outcomes: unknown[] = [];
  const count = depth === 0 ? 0 : 1 + random(3);
  for (let step = 0; step < count; step += 1) outcomes.push(await talkOnce(talking, program, depth, random));
  const { memory } = talking.turn;
  memory.set(((memory.get() as number | undefined) ?? 0) + 1);
  await talking.turn.text(JSON.stringify(outcomes));
  return { program, outcomes };
}

async function talkOnce(
  { turn, talker, scale }: Talking,
  program: number,
  depth: number,
  random: (below: number) => number,
): Promise<unknown> {
  const time = (belowMs: number): number => random(belowMs) * scale;
  const to = turn.actor(talker, TALKERS[random(TALKERS.length)] ?? "a");
  const next = { program: program * 31 + random(1_000), depth: depth - 1 };
  const kind = random(12);
  const others = [1, 2, 3].map((more) => ({ program: next.program + more, depth: 0 }));
  switch (kind) {
    case 0:
    case 1:
    case 2:
      return outcomeOf(turn.ask(to, "talk", next));
    case 3:
      return outcomeOf(turn.tell(to, "talk", next));
    case 4:
      await Promise.all(others.map((other) => outcomeOf(turn.tell(to, "talk", other))));
      return "told";
    case 5:
      return outcomeOf(turn.ask(to, "talk", next, { timeoutMs: 1 + time(2_000) }));
    case 6:
      return Promise.all(others.map((other) => outcomeOf(turn.ask(to, "talk", other))));
    case 7:
      return outcomeOf(turn.schedule(to, "talk", { ...next, depth: 0 }, { afterMs: time(5_000) }));
    case 8:
      return outcomeOf(turn.schedule(to, "note", next.program, { afterMs: time(5_000) }));
    case 9:
      await Promise.all([1, 2].map((more) => outcomeOf(turn.tell(to, "note", next.program + more))));
      return turn.received("note");
    case 10:
      return turn.receive("note", { timeoutMs: time(3_000) });
    default: {
      const asked = outcomeOf(turn.ask(to, "talk", next));
      return Promise.race([asked, turn.sleep(time(20) * 100).then(() => "let go")]);
    }
  }
}

/** The end of a request, without what is different in each simulation. */
async function outcomeOf(sent: Promise<unknown>): Promise<string> {
  try {
    await sent;
    return "ok";
  } catch (error) {
    return String((error as { readonly code?: unknown }).code);
  }
}

function createNumbers(seed: number): (below: number) => number {
  let state = (Math.imul(seed, 2_654_435_761) ^ 0x9e3779b9) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
