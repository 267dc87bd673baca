import { defineAgent, operation } from "troupe";
import type { Agent } from "troupe";
import { z } from "zod";

/** A list that actors share: its turns say what they were given. */
export const list = defineAgent({
  name: "list",
  purpose: "Keeps a list.",
  operations: (own) => ({
    add: own({
      input: z.object({ item: z.string() }),
      async run({ item }, turn) {
        const before = (turn.memory.get() ?? []) as readonly string[];
        await turn.text(item);
        turn.memory.set([...before, item]);
        return before.length + 1;
      },
    }),
    all: own({
      input: z.object({}),
      run: (_input, turn) => ({ items: (turn.memory.get() ?? []) as readonly string[] }),
    }),
    fail: own({
      input: z.object({}),
      run: (): never => {
        throw new Error("the list is broken");
      },
    }),
    hold: own({
      input: z.object({}),
      run: (_input, turn) => turn.waitForInput({ go: "Go on?" }),
    }),
    from: own({
      input: z.object({}),
      run: (_input, turn) => ({ self: turn.self, sender: turn.sender ?? null }),
    }),
  }),
});

/** Does with a list what its input says. */
export const user = defineAgent({
  name: "user",
  purpose: "Uses a list.",
  operations: (own) => ({
    ask_all: own({
      input: z.object({ key: z.string() }),
      async run({ key }, turn) {
        const actor = turn.actor(list, key);
        const first = await turn.ask(actor, "add", { item: "a" });
        const second = await turn.ask(actor, "add", { item: "b" });
        const { items } = await turn.ask(actor, "all", {});
        return { first, second, items };
      },
    }),
    tell_all: own({
      input: z.object({ key: z.string() }),
      async run({ key }, turn) {
        const actor = turn.actor(list, key);
        const tells = ["a", "b", "c"].map((item) => turn.tell(actor, "add", { item }));
        return (await Promise.all(tells)).length;
      },
    }),
    /** Tells three items at once; some may be refused. */
    tell_each: own({
      input: z.object({ key: z.string() }),
      async run({ key }, turn) {
        const actor = turn.actor(list, key);
        const tells = ["a", "b", "c"].map((item) => turn.tell(actor, "add", { item }));
        return (await Promise.allSettled(tells)).map(({ status }) => status);
      },
    }),
    tell_only: own({
      input: z.object({ key: z.string() }),
      run({ key }, turn) {
        void turn.tell(turn.actor(list, key), "add", { item: "late" });
      },
    }),
    /** Asks one actor by its id. */
    ask_run: own({
      input: z.object({ run_id: z.string() }),
      run: ({ run_id }, turn) => turn.ask(turn.actor(list, { run_id }), "all", {}),
    }),
    /** Asks for something that the list refuses. */
    ask_wrong: own({
      input: z.object({ operation: z.string(), input: z.json() }),
      run: ({ operation: name, input }, turn) => turn.ask(turn.actor(list as Agent, "wrong"), name, input),
    }),
    ask_bad: own({
      input: z.object({ operation: z.enum(["fail", "hold", "from"]), timeoutMs: z.number().optional() }),
      run: async ({ operation: name, timeoutMs }, turn) => {
        const options = timeoutMs === undefined ? {} : { timeoutMs };
        return turn.ask(turn.actor(list, "bad"), name, {}, options);
      },
    }),
  }),
});

/** Actors that ask and tell others of their own kind. */
export const peer: Agent = defineAgent({
  name: "peer",
  purpose: "Asks its peers.",
  operations: {
    /** Asks the first peer to ask the rest. */
    chain: operation({
      input: z.object({ keys: z.array(z.string()) }),
      async run({ keys: [first, ...keys] }, turn): Promise<unknown> {
        if (first === undefined) return "end";
        return turn.ask(turn.actor(peer, first), "chain", { keys });
      },
    }),
    /** Tells a peer, which tells this one, without end. */
    bounce: operation({
      input: z.object({ to: z.string() }),
      async run({ to }, turn) {
        await turn.tell(turn.actor(peer, to), "bounce", { to: turn.self.key ?? "" });
      },
    }),
    /** Holds its turn for a while, and then asks. */
    ask_after: operation({
      input: z.object({ ms: z.number(), to: z.string() }),
      async run({ ms, to }, turn): Promise<unknown> {
        await turn.sleep(ms);
        return turn.ask(turn.actor(peer, to), "chain", { keys: [] });
      },
    }),
    /** Holds its turn for a while, and then asks several at once. */
    ask_both_after: operation({
      input: z.object({ ms: z.number(), keys: z.array(z.string()) }),
      async run({ ms, keys }, turn): Promise<unknown> {
        await turn.sleep(ms);
        const asks = keys.map((key) => turn.ask(turn.actor(peer, key), "chain", { keys: [] }));
        return (await Promise.allSettled(asks)).map(({ status }) => status);
      },
    }),
    /** Waits for a person, and then asks a peer. */
    ask_later: operation({
      input: z.object({ to: z.string() }),
      async run({ to }, turn): Promise<unknown> {
        await turn.waitForInput({ go: "Go on?" });
        return turn.ask(turn.actor(peer, to), "chain", { keys: [] });
      },
    }),
  },
});
