import { AgentError, defineAgent } from "troupe";
import { z } from "zod";

/** Members by key, and what was said. */
const kept = z
  .object({ members: z.array(z.string()), lines: z.array(z.object({ from: z.string(), text: z.string() })) })
  .default({ members: [], lines: [] });

/** A room in which members talk: one actor per key. It tells every member what another one has said. */
export const room = defineAgent({
  name: "room",
  purpose: "A room in which members talk with each other.",
  memorySchema: kept,
  operations: (operation) => ({
    join: operation({
      description: "Adds the member that asks.",
      input: z.object({}),
      run(_input, turn): number {
        const { members, lines } = turn.memory.get();
        const key = turn.sender?.key ?? "someone";
        const all = members.includes(key) ? members : [...members, key];
        turn.memory.set({ members: all, lines });
        return all.length;
      },
    }),
    say: operation({
      description: "Tells all other members a text, after a while. The result is the number of lines so far.",
      input: z.object({ text: z.string(), afterMs: z.number().default(0) }),
      async run({ text, afterMs }, turn): Promise<number> {
        if (afterMs > 0) await turn.sleep(afterMs);
        const { members, lines } = turn.memory.get();
        const from = turn.sender?.key ?? "someone";
        await turn.text(`${from}: ${text}`);
        const others = members.filter((key) => key !== from);
        await Promise.all(others.map((key) => turn.tell(turn.actor(member, key), "hear", { from, text })));
        turn.memory.set({ members, lines: [...lines, { from, text }] });
        return lines.length + 1;
      },
    }),
    lines: operation({
      description: "What was said.",
      input: z.object({}),
      run: (_input, turn): z.infer<typeof kept>["lines"] => turn.memory.get().lines,
    }),
  }),
});

const heard = z.array(z.string()).default([]);

/** A member of rooms: one actor per key. It speaks in a room, hears what others say, and asks other members. */
export const member = defineAgent({
  name: "member",
  purpose: "Talks in rooms, and with other members.",
  memorySchema: heard,
  operations: (operation) => ({
    enter: operation({
      description: "Joins a room. The result is the number of its members.",
      input: z.object({ room: z.string() }),
      run: ({ room: key }, turn): Promise<number> => turn.ask(turn.actor(room, key), "join", {}),
    }),
    speak: operation({
      description: "Says something in a room. The result is the number of lines there.",
      input: z.object({ room: z.string(), text: z.string(), afterMs: z.number().default(0) }),
      run: ({ room: key, text, afterMs }, turn): Promise<number> =>
        turn.ask(turn.actor(room, key), "say", { text, afterMs }),
    }),
    hear: operation({
      description: "Hears what another member has said.",
      input: z.object({ from: z.string(), text: z.string() }),
      run({ from, text }, turn): null {
        turn.memory.set([...turn.memory.get(), `${from}: ${text}`]);
        return null;
      },
    }),
    heard: operation({
      description: "All that it has heard.",
      input: z.object({}),
      run: (_input, turn): readonly string[] => turn.memory.get(),
    }),
    greet: operation({
      description: "Asks another member for a greeting, after a second.",
      input: z.object({ to: z.string() }),
      async run({ to }, turn): Promise<string> {
        await turn.sleep(1_000);
        try {
          return await turn.ask(turn.actor(member, to), "greeting", {});
        } catch (error) {
          // Two members that greet each other at once would wait for each other.
          if (error instanceof AgentError && error.code === "would_deadlock") return "We greeted each other.";
          throw error;
        }
      },
    }),
    greeting: operation({
      description: "A greeting.",
      input: z.object({}),
      run: (_input, turn): string => `Hello from ${turn.self.key ?? "someone"}.`,
    }),
  }),
});
