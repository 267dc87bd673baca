import type { Case } from "../../case.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { checkGapless, ofType } from "../../wire-event.ts";
import type { WireEvent } from "../../wire-event.ts";

/** Readers that get only some of the events. */
export const filters: readonly Case[] = [
  {
    id: "25c",
    title: "types= filters out other types, except those that every reader needs",
    needs: ["team"],
    async run(context) {
      const turn = await context.startEndless("team", "buy a lamp for 5");
      const types = "ToolCall";
      const before = await context.read(turn, { types });
      checkEqual(typesOf(before), ["RequestStarted", "ToolCall", "WaitForInput"], "the types up to the wait");
      await context.resume(turn, { approved: true }, {}, { wait: "completed" });
      const after = await context.poll(turn, { types, since: before.at(-1)?.id ?? 0 });
      checkEqual(typesOf(after), ["ResumeWithInput", "RequestCompleted"], "the types after the wait");
    },
  },
  {
    id: "25d",
    title: "max_depth= and agent= filter out events of other agents",
    needs: ["team"],
    async run(context) {
      const turn = await context.start("team", "the moon");
      const all = await context.read(turn);
      const shallow = await context.read(turn, { max_depth: 0 });
      checkEqual(
        shallow,
        all.filter(({ depth }) => depth === 0),
        "the stream with max_depth=0",
      );
      const child = all.find(({ depth }) => depth === 1)?.agent;
      check(typeof child === "string", "an event at depth 1", all);
      const always = new Set(["RequestStarted", "RequestCompleted"]);
      const wanted = all.filter(({ agent, type }) => agent === child || always.has(type));
      checkEqual(
        await context.poll(turn, { since: 0, agent: child }),
        wanted,
        `the poll with agent=${child}`,
      );
    },
  },
  {
    id: "25e",
    title: "a page advances past filtered events",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two three");
      await context.read(turn);
      const query = { consumer: "picky", types: "ToolCall" };
      checkEqual(
        typesOf(await context.poll(turn, query)),
        ["RequestStarted", "RequestCompleted"],
        "the types",
      );
      checkEqual(await context.poll(turn, { consumer: "picky" }), [], "the next poll");
    },
  },
  {
    id: "25f",
    title: "logging_level selects what readers of the request get, not what is in the log",
    needs: ["calculator"],
    async run(context) {
      const shown = async (level: string): Promise<WireEvent[]> =>
        context.read(await context.start("calculator", "6 * 7", { logging_level: level }));
      const minimal = await shown("minimal");
      checkEqual(typesOf(minimal), ["RequestStarted", "TextOutput", "RequestCompleted"], "minimal");
      const tools = ["RequestStarted", "ToolCall", "ToolResult", "TextOutput", "RequestCompleted"];
      for (const level of ["tools", "all", "default", "unheard-of"]) {
        checkEqual(typesOf(await shown(level)), tools, level);
      }
    },
  },
  {
    id: "25g",
    title: "the level does not apply to the run's history, nor to a reader that names types",
    needs: ["calculator"],
    async run(context) {
      const turn = await context.start("calculator", "6 * 7", { logging_level: "minimal" });
      await context.read(turn);
      const history = await context.history(turn);
      checkGapless(history, 1);
      checkEqual(ofType(history, "ToolCall").length, 1, "the number of ToolCall in the history");
      const named = await context.poll(turn, { since: 0, types: "ToolCall,ToolResult" });
      checkEqual(ofType(named, "ToolCall").length, 1, "the number of ToolCall by name");
    },
  },
];

function typesOf(events: readonly WireEvent[]): string[] {
  return events.map(({ type }) => type);
}
