import type { Case } from "../../case.ts";
import { repeatRequest } from "../../roles.ts";
import { checkProblem } from "../../http-client.ts";
import type { Context, StartedTurn } from "../../context.ts";
import { eventsOf } from "../../context.ts";
import { check, checkEqual } from "../../mismatch.ts";
import type { Query } from "../../http-client.ts";
import { checkGapless, ofType } from "../../wire-event.ts";
import type { WireEvent } from "../../wire-event.ts";

/** Polling events. */
export const polling: readonly Case[] = [
  {
    id: "24",
    title: "a second poll has only newer events, and does not wait for them",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const wanted = await context.read(turn);
      checkEqual(await context.poll(turn), wanted, "the first poll");
      checkEqual(await context.poll(turn), [], "the second poll");
      await context.resume(turn, { approved: true }, {}, { wait: "completed" });
      const third = await context.poll(turn);
      checkEqual(third[0]?.id, wanted.length + 1, "the first id of the third poll");
      checkEqual(third.at(-1)?.type, "RequestCompleted", "the last type of the third poll");
      checkEqual(await context.poll(turn), [], "the fourth poll");
    },
  },
  {
    id: "24a",
    title: "each consumer has its own cursor, which since does not move",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two");
      const wanted = await context.read(turn);
      checkEqual(await context.poll(turn, { consumer: "a" }), wanted, "the poll of a");
      checkEqual(await context.poll(turn, { since: 1 }), wanted.slice(1), "the poll since 1");
      checkEqual(await context.poll(turn, { consumer: "b" }), wanted, "the poll of b");
      checkEqual(await context.poll(turn, { consumer: "a" }), [], "the next poll of a");
      checkEqual(await context.poll(turn), wanted, "the poll without a name");
    },
  },
  {
    id: "24b",
    title: "a poll of a running turn answers at once with the existing events",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.startSlow();
      const stream = await context.stream(turn);
      await stream.until(({ type }) => type === "TextOutput", "the first number");
      stream.close();
      // A server can also say that the agent sleeps.
      const types = "TextOutput";
      checkEqual((await context.poll(turn, { types })).length, 2, "the number of events");
      checkEqual((await context.poll(turn, { types })).length, 0, "the number of newer events");
      checkEqual((await context.status(turn)).status, "running", "the status");
    },
  },
  {
    id: "24c",
    title: "a long poll waits for the next event, or for its timeout",
    needs: ["payments"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const since = (await context.read(turn)).length;
      checkEqual(await context.poll(turn, { since, timeout: 50 }), [], "a long poll without events");
      const long = context.poll(turn, { since, timeout: 60_000 });
      // It can fail before it is awaited.
      long.catch(() => {});
      await context.resume(turn, { approved: true });
      const [event] = await long;
      checkEqual(event?.id, since + 1, "the first id of the long poll");
    },
  },
  {
    id: "24d",
    title: "a poll of a run without since returns its history each time; only a named consumer has a cursor",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two");
      const wanted = await context.read(turn);
      for (const path of [
        `/events/${turn.runId}`,
        `/getevents/${turn.runId}`,
        `/events?run_id=${turn.runId}`,
      ]) {
        const poll = async (query: Query = {}): Promise<WireEvent[]> =>
          eventsOf(await context.http.ask("GET", `${context.path("echo")}${path}`, { query }));
        checkEqual(await poll(), wanted, `the first poll of ${path}`);
        checkEqual(await poll(), wanted, `the second poll of ${path}`);
        const consumer = crypto.randomUUID();
        checkEqual(await poll({ consumer }), wanted, "the first poll of a consumer");
        checkEqual(await poll({ consumer }), [], "the next poll of the consumer");
      }
    },
  },
  {
    id: "25",
    title: "since is exact and repeatable, and after the end there is nothing",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two three");
      const wanted = await context.read(turn);
      checkGapless(wanted, 1);
      for (const since of [0, 1, 3, 4, 5, 6, 1000]) {
        for (let time = 0; time < 2; time += 1) {
          checkEqual(await context.poll(turn, { since }), wanted.slice(since), `the poll since ${since}`);
        }
      }
    },
  },
  {
    id: "25a",
    title: "an invalid since is a 400",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "hello");
      const path = `${context.path("echo")}/getevents/${turn.requestId}`;
      for (const since of ["-1", "1.5", "NaN", "abc", "0x1", ["1", "2"]]) {
        for (const stream of [false, true]) {
          checkProblem(await context.http.ask("GET", path, { query: { since, stream } }), 400);
        }
      }
    },
  },
  {
    id: "25b",
    title: "a long history has several pages, each with a link to the next",
    needs: ["echo"],
    async run(context) {
      const first = await context.start("echo", repeatRequest("a", 900));
      await context.read(first);
      const second = await context.start("echo", repeatRequest("b", 300), { run_id: first.runId });
      await context.read(second);
      const { events, pages } = await readPages(context, first);
      check(pages > 1, "more than one page", pages);
      checkGapless(events, 1);
      checkEqual(ofType(events, "TextOutput").length, 1200, "the number of texts");
      checkEqual(events.at(-1)?.type, "RequestCompleted", "the last type");
    },
  },
];

async function readPages(
  context: Context,
  turn: StartedTurn,
): Promise<{ events: WireEvent[]; pages: number }> {
  const events: WireEvent[] = [];
  let url: string | undefined = `${context.path(turn.role)}/getevents/${turn.runId}?since=0`;
  let pages = 0;
  for (; url !== undefined; pages += 1) {
    check(pages < 10, "at most ten pages", url);
    const asked: string = url;
    const answer = await context.http.ask("GET", asked);
    const page = eventsOf(answer);
    check(page.length <= 1000, "at most 1,000 events a page", page.length);
    events.push(...page);
    const next = /<([^>]+)>\s*;\s*rel="?next"?/.exec(answer.headers.get("link") ?? "")?.[1];
    url = next === undefined ? undefined : new URL(next, context.http.resolve(asked)).href;
  }
  return { events, pages };
}
