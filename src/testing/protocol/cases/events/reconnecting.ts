import type { Case } from "../../case.ts";
import type { Context, StartedTurn } from "../../context.ts";
import { repeat } from "../../context.ts";
import type { EventStream } from "../../event-stream.ts";
import type { Frame } from "../../frames.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { checkStatus } from "../../http-client.ts";
import type { Query } from "../../http-client.ts";
import { ofType, only, toEvent } from "../../wire-event.ts";

/** Readers that reconnect. */
export const reconnecting: readonly Case[] = [
  {
    id: "26",
    title: "a reader that reconnects in mid-stream gets no gaps and no duplicates",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.start("ticker", "30 10");
      const seen: Frame[] = [];
      for (let cut = 3; cut <= 12; cut += 3) {
        const stream = await context.stream(turn, {}, lastEventId(seen.at(-1)?.id));
        while (seen.length < cut) {
          const frame = await stream.data();
          check(frame !== undefined, "more frames", seen);
          seen.push(frame);
        }
        stream.close();
      }
      seen.push(...(await (await context.stream(turn, {}, lastEventId(seen.at(-1)?.id))).restOfFrames()));
      checkEqual(seen, await (await context.stream(turn)).restOfFrames(), "what was read in pieces");
    },
  },
  {
    id: "26a",
    title: "the greater of since and Last-Event-ID counts",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two three");
      await context.read(turn);
      for (const [since, last] of [
        [1, 3],
        [3, 1],
      ] as const) {
        const stream = await context.stream(turn, { since }, lastEventId(String(last)));
        checkEqual(
          (await stream.rest()).map(({ id }) => id),
          [4, 5],
          `the ids for ${since} and ${last}`,
        );
      }
    },
  },
  {
    id: "26g",
    title: "lastEventId and last_event_id in the query count like the header",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two three");
      const wanted = await context.read(turn);
      for (const name of ["lastEventId", "last_event_id"]) {
        const stream = await context.stream(turn, { [name]: 3 });
        checkEqual(await stream.rest(), wanted.slice(3), `the stream after ${name}`);
        const larger = await context.stream(turn, { [name]: 2, since: 1 }, lastEventId("4"));
        checkEqual(await larger.rest(), wanted.slice(4), "the stream after the greatest of three positions");
        const ignored = await context.stream(turn, { [name]: "abc" });
        checkEqual(await ignored.rest(), wanted, `the stream for a malformed ${name}`);
        await checkNothing(context, turn, { [name]: wanted.length });
      }
    },
  },
  {
    id: "26b",
    title: "a Last-Event-ID that is not a number is ignored",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two");
      const wanted = await context.read(turn);
      for (const id of ["abc", "-1", "1.5", "1e1", ""]) {
        const stream = await context.stream(turn, {}, lastEventId(id));
        checkEqual(await stream.rest(), wanted, `the stream for ${JSON.stringify(id)}`);
      }
    },
  },
  {
    id: "26c",
    title: "a reader that has all events of a completed request gets a 204",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one two");
      const last = (await context.read(turn)).at(-1)?.id;
      await checkNothing(context, turn, {}, String(last));
      await checkNothing(context, turn, { since: Number(last) });
      await checkNothing(context, turn, { since: 100_000 });
    },
  },
  {
    id: "26d",
    title: "a reader that already has the open wait stays connected until the answer is processed",
    needs: ["payments"],
    async run(context) {
      const turn = await context.start("payments", "pay 30 to bob");
      const wait = only(await context.read(turn), "WaitForInput");
      const stream = await context.stream(turn, {}, lastEventId(String(wait.id)));
      await context.resume(turn, { approved: true });
      const events = await stream.rest();
      checkEqual(events[0]?.type, "ResumeWithInput", "the first event");
      checkEqual(events.at(-1)?.type, "RequestCompleted", "the last event");
    },
  },
  {
    id: "26e",
    title: "an idle stream sends heartbeats with its cursor, also past filtered events",
    needs: ["ticker", "thorough"],
    async run(context) {
      const turn = await context.startSlow();
      const stream = await context.stream(turn, { types: "ToolCall" });
      checkEqual((await stream.next())?.type, "RequestStarted", "the first type");
      const { data, id } = (await heartbeat(stream)) ?? {};
      stream.close();
      checkEqual(data, undefined, "a heartbeat without data");
      checkEqual(id, "2", "the id of the heartbeat");
    },
  },
  {
    id: "26f",
    title: "the heartbeats of a reader that has all events contain its cursor too",
    needs: ["payments", "thorough"],
    async run(context) {
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const wait = only(await context.read(turn), "WaitForInput");
      const stream = await context.stream(turn, {}, lastEventId(String(wait.id)));
      const { data, id } = (await heartbeat(stream)) ?? {};
      stream.close();
      checkEqual(data, undefined, "a heartbeat without data");
      checkEqual(id, String(wait.id), "the id of the heartbeat");
    },
  },
  {
    id: "30",
    title: "a reader that connects at the moment of the end gets it exactly once",
    needs: ["echo"],
    async run(context) {
      await repeat(context.times(200, 10_000), 8, async (index) => {
        const turn = await context.start("echo", "one two three");
        const [first, second, late] = await Promise.all([
          context.read(turn),
          context.read(turn),
          // Reconnects with a position one to four events before the end.
          readLate(context, turn, 1 + (index % 4)),
        ]);
        for (const events of [first, second]) {
          checkEqual(
            events.map(({ id }) => id),
            [1, 2, 3, 4, 5],
            "the ids of a whole stream",
          );
          only(events, "RequestCompleted");
        }
        checkEqual(ofType(late, "RequestCompleted").length, 1, "the number of ends in a late stream");
      });
    },
  },
];

const HEARTBEAT_LIMIT_MS = 20_000;

/** The next frame after the opening of the stream. */
async function heartbeat(stream: EventStream): Promise<Frame | undefined> {
  for (;;) {
    const frame = await stream.frame(HEARTBEAT_LIMIT_MS);
    if (frame?.retry === undefined) return frame;
  }
}

function lastEventId(id: string | undefined): Readonly<Record<string, string>> {
  return id === undefined ? {} : { "last-event-id": id };
}

async function checkNothing(context: Context, turn: StartedTurn, query: Query, id?: string): Promise<void> {
  const path = `${context.path(turn.role)}/getevents/${turn.requestId}`;
  const ask = { query: { stream: true, ...query }, headers: lastEventId(id) };
  const answer = await context.http.ask("GET", path, ask);
  checkStatus(answer, 204);
}

/** Reads a stream up to an event, disconnects, and resumes at once. */
async function readLate(
  context: Context,
  turn: StartedTurn,
  upTo: number,
): Promise<{ id: number; type: string }[]> {
  const stream = await context.stream(turn);
  await stream.until(({ id }) => id === upTo, `event ${upTo}`);
  stream.close();
  const rest = await context.stream(turn, {}, lastEventId(String(upTo)));
  const events = (await rest.restOfFrames()).map(({ data }) => toEvent(data, rest.asked));
  checkEqual(events[0]?.id, upTo + 1, "the first id after the reconnection");
  return events;
}
