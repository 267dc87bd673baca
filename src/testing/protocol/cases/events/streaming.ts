import type { Case } from "../../case.ts";
import { check, checkEqual } from "../../mismatch.ts";
import { eventsOf, repeat } from "../../context.ts";
import type { Frame } from "../../frames.ts";
import { checkStatus, checkProblem } from "../../http-client.ts";
import { checkWholeTurn, ofType, toEvent } from "../../wire-event.ts";

/** Streaming events. */
export const streaming: readonly Case[] = [
  {
    id: "21",
    title: "a frame is an id and one line of data, and proxies must not cache or change it",
    needs: ["echo"],
    async run(context) {
      const stream = await context.stream(await context.start("echo", "one\ntwo three"));
      const { headers } = stream;
      check(headers.get("content-type")?.startsWith("text/event-stream") === true, "an SSE type", [
        ...headers,
      ]);
      const caching = headers.get("cache-control") ?? "";
      check(/no-store/.test(caching) && /no-transform/.test(caching), "no-store, no-transform", caching);
      checkEqual(headers.get("x-accel-buffering"), "no", "X-Accel-Buffering");
      const frames = await stream.restOfFrames();
      check(frames.length > 0, "frames", frames);
      for (const frame of frames) {
        checkEqual(frame.event, undefined, "a frame without event name");
        checkEqual(frame.dataLines, 1, "the number of data lines");
        checkEqual(frame.id, String(toEvent(frame.data, stream.asked).id), "the id of the frame");
      }
    },
  },
  {
    id: "21a",
    title: "a stream starts with retry: 1000, even if no event comes for a while",
    needs: ["echo", "payments"],
    async run(context) {
      const done = await (await context.stream(await context.start("echo", "one"))).frame();
      checkEqual(done?.retry, "1000", "the retry of the first frame");
      const turn = await context.startEndless("payments", "pay 30 to bob");
      const since = (await context.read(turn)).length;
      const quiet = await context.stream(turn, { since });
      checkEqual((await quiet.frame())?.retry, "1000", "the retry of the first frame of a quiet stream");
      quiet.close();
    },
  },
  {
    id: "22",
    title: "a reader after the end gets the same bytes as a live one, by stream and by poll",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.start("ticker", "5 20");
      const live = await (await context.stream(turn)).restOfFrames();
      const later = await (await context.stream(turn)).restOfFrames();
      checkEqual(later.map(toData), live.map(toData), "the later stream");
      const path = `${context.path("ticker")}/getevents/${turn.requestId}`;
      const polled = await context.http.ask("GET", path, { query: { since: 0 } });
      for (const { data } of live) check(polled.text.includes(String(data)), `${data}`, polled);
    },
  },
  {
    id: "22a",
    title: "reading a completed request again and again is fast",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "hello there");
      for (let read = 0; read < 3; read += 1) checkWholeTurn(await context.read(turn), "success");
      checkEqual((await context.poll(turn, { since: 0 })).length, 4, "the number of polled events");
      const answer = await context.http.ask("GET", `${context.path("echo")}/describe`);
      checkStatus(answer, 200);
    },
  },
  {
    id: "23",
    title: "many concurrent readers get the same bytes",
    needs: ["ticker"],
    async run(context) {
      const turn = await context.start("ticker", "20 20");
      const readers = context.times(30, 100);
      const all = await repeat(readers, readers, async () => {
        const stream = await context.stream(turn);
        return (await stream.restOfFrames()).map(toData);
      });
      for (const frames of all) checkEqual(frames, all[0], "each reader's events");
      checkEqual(all[0]?.length, 22, "the number of events");
    },
  },
  {
    id: "27",
    title: "all ways to name a request or a run give the same events",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "hello there");
      const wanted = await context.read(turn);
      const { requestId, runId } = turn;
      for (const path of [
        `/getevents/${requestId}`,
        `/getevents?request_id=${requestId}`,
        `/getevents?run_id=${runId}`,
        `/getevents/${runId}`,
        `/events/${runId}`,
        `/events?run_id=${runId}`,
        `//getevents//${requestId}`,
      ]) {
        for (const prefix of [context.path("echo"), ""]) {
          const polled = await context.http.ask("GET", `${prefix}${path}`, { query: { since: 0 } });
          checkEqual(eventsOf(polled), wanted, `the poll of ${prefix}${path}`);
          const query = { since: 0, stream: "True" };
          const stream = await context.http.stream(`${prefix}${path}`, { query });
          checkEqual(await stream.rest(), wanted, `the stream of ${prefix}${path}`);
        }
      }
    },
  },
  {
    id: "27a",
    title: "below an agent's path, ids of other agents are unknown",
    needs: ["echo", "notebook"],
    async run(context) {
      const { requestId, runId } = await context.start("echo", "hello");
      for (const path of [`/getevents/${requestId}`, `/events/${runId}`, `/request/${requestId}`]) {
        checkProblem(await context.http.ask("GET", `${context.path("notebook")}${path}`), 404);
      }
    },
  },
  {
    id: "28",
    title: "an unknown id is a 404 on every route, and the server keeps working",
    needs: ["echo"],
    async run(context) {
      const id = context.newId();
      for (const path of [
        `/getevents/${id}`,
        `/getevents?request_id=${id}`,
        `/events/${id}`,
        `/request/${id}`,
      ]) {
        checkProblem(await context.http.ask("GET", `${context.path("echo")}${path}`), 404);
        const ask = { query: { stream: true } };
        checkProblem(await context.http.ask("GET", `${context.path("echo")}${path}`, ask), 404);
      }
      checkWholeTurn(await context.read(await context.start("echo", "still here")), "success");
    },
  },
  {
    id: "28a",
    title: "the stream of an idle run has its latest turn and ends; since=0 gives the whole run",
    needs: ["echo"],
    async run(context) {
      const first = await context.start("echo", "one");
      const events = await context.read(first);
      const second = await context.start("echo", "two", { run_id: first.runId });
      const latest = await context.read(second);
      const path = `${context.path("echo")}/getevents/${first.runId}`;
      const byRun = await context.http.stream(path, { query: { stream: true } });
      checkEqual(await byRun.rest(), latest, "the stream of the run");
      const whole = await context.http.stream(path, { query: { stream: true, since: 0 } });
      checkEqual(await whole.rest(), [...events, ...latest], "the stream of the whole run");
    },
  },
  {
    id: "28b",
    title: "a reader that follows a run stays connected across turns",
    needs: ["echo"],
    async run(context) {
      const turn = await context.start("echo", "one");
      const path = `${context.path("echo")}/getevents/${turn.runId}`;
      const stream = await context.http.stream(path, { query: { stream: true, follow: true, since: 0 } });
      const isEnd = ({ type }: { type: string }): boolean => type === "RequestCompleted";
      await stream.until(isEnd, "the first end");
      await context.start("echo", "two", { run_id: turn.runId });
      const next = await stream.until(isEnd, "the second end");
      stream.close();
      checkEqual(ofType(next, "RequestStarted").length, 1, "the number of RequestStarted in the second turn");
    },
  },
];

function toData({ data }: Frame): string | undefined {
  return data;
}
