import { isInstance, AgentError, toAgentError } from "../../errors.ts";
import type { EventLog } from "../../ports/event-log.ts";
import type { OutboxMark } from "../../ports/log-batch.ts";
import type { ActorRef, Hops } from "../../protocol/actors.ts";
import type { Event, EventOf } from "../../protocol/events/events.ts";
import type { TurnError } from "../../protocol/events/outcome-codes.ts";
import type { RequestId } from "../../protocol/ids.ts";
import type { Json } from "../../protocol/json.ts";
import type { OperationRequest } from "../../protocol/requests/requests.ts";
import type { RunLedger } from "../activation/run-ledger.ts";
import { ENDED } from "../agent/ended.ts";
import { isFailure } from "../activation/strategy.ts";
import { WATCH, actorNameOf, isSameActor, wantsEnd } from "../agent/watchers.ts";
import type { Newest, WatchingActor } from "../agent/watchers.ts";
import { digest } from "../../shared/digest.ts";
import type { AcceptedRequest } from "../journal/records.ts";
import { toOwned } from "../../ports/principal.ts";
import { readEvent } from "../replay/accepted.ts";
import { HOPS_LIMIT, nextHops } from "../replay/actor-request.ts";
import type { RunContext } from "../run-context.ts";

/** How many actors are told at once: each may have to be loaded. */
const AT_ONCE = 32;

/** How many notices one actor is told at once. */
const TOGETHER = 100;

/** How many events are in memory until all have been told of them, and how many characters. Those behind them wait in the log. */
const EVENTS_AT_ONCE = 1_000;
const TEXT_AT_ONCE = 16 * 1024 * 1024;

/**
 * Tells those that watch a run of its events: of ends of its turns, or of the publications of a topic. A notice is one entry of the
 * run's outbox, however many actors it is for; after a crash all of them are told again, and know what they have by its id.
 *
 * An event is read once, and what waits for an actor only refers to it: the request that tells the actor is made when it is sent. So
 * the memory depends on the events and the actors, and hardly on their product.
 */
export class Notices {
  readonly #context: RunContext;
  readonly #ledger: RunLedger;
  /** Called when all have been told. */
  readonly #told: (mark: OutboxMark) => void;
  /** What each actor is still to be told, oldest first. */
  readonly #lanes = new Map<string, Lane>();
  /** The lanes with work that no worker has. */
  readonly #ready: Lane[] = [];
  /** The names of those that watch, which change with the list of them. */
  #named: { readonly of: readonly WatchingActor[]; readonly names: ReadonlySet<string> } | undefined;
  #workers = 0;
  #stopped = false;
  /** The events that are to be read, in their order. */
  readonly #waiting: (() => Promise<void>)[] = [];
  /** How many events were read of which not all have been told, and their size. */
  #events = 0;
  #text = 0;
  #isReading = false;

  constructor(context: RunContext, ledger: RunLedger, told: (mark: OutboxMark) => void) {
    this.#context = context;
    this.#ledger = ledger;
    this.#told = told;
  }

  /** Tells those that watch the run now of an event. */
  add(mark: OutboxMark, isRepeated: boolean): void {
    const { watchers = NONE } = this.#ledger.state;
    this.#waiting.push(() => this.#begin(mark, watchers, isRepeated));
    void this.#read();
  }

  stop(): void {
    this.#stopped = true;
  }

  get #self(): OwnedActor {
    const { agent = "", key, owner, runId } = this.#ledger;
    return { owner, agent, ...(key !== undefined && { key }), run_id: runId };
  }

  /** Reads the events that wait, one after the other, as long as there is room for them. Never rejects. */
  async #read(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    while (this.#events < EVENTS_AT_ONCE && this.#text < TEXT_AT_ONCE && !this.#stopped) {
      const begin = this.#waiting.shift();
      if (begin === undefined) break;
      // oxlint-disable-next-line no-await-in-loop -- notices are begun in the order of their events
      await begin();
    }
    this.#isReading = false;
  }

  async #begin(mark: OutboxMark, watchers: readonly WatchingActor[], isRepeated: boolean): Promise<void> {
    const { log, telemetry } = this.#context;
    try {
      const { runId, state } = this.#ledger;
      const text = await readEvent(log, { runId, requestId: mark.requestId }, mark.event);
      const event = JSON.parse(text) as Event;
      const happened = await happenedIn(log, this.#self, event, watchers, state.newest ?? []);
      if (this.#stopped) return;
      const left = happened.reduce((sum, { to }) => sum + to.length, 0);
      const told: ToldEvent = { mark, isRepeated, text: text.length, left };
      this.#events += 1;
      this.#text += told.text;
      for (const { to, what } of happened) {
        const notice: Notice = { what, told };
        for (const watcher of to) this.#push(watcher, notice);
      }
      if (left === 0) this.#isTold(told);
      this.#work();
    } catch (error) {
      // Without the event there is nothing to send: its run was removed, or the log is away and the outbox is read again.
      if (!isInstance(error, AgentError)) telemetry.fault("a notice could not be read", error);
    }
  }

  #isTold({ mark, text }: ToldEvent): void {
    this.#events -= 1;
    this.#text -= text;
    this.#told(mark);
    void this.#read();
  }

  #push({ ref }: WatchingActor, notice: Notice): void {
    const name = actorNameOf(ref);
    let lane = this.#lanes.get(name);
    if (lane === undefined) {
      lane = { name, ref, notices: [] };
      this.#lanes.set(name, lane);
      this.#ready.push(lane);
    }
    lane.notices.push(notice);
  }

  #work(): void {
    while (this.#workers < AT_ONCE && !this.#stopped) {
      const lane = this.#ready.shift();
      if (lane === undefined) return;
      this.#workers += 1;
      void this.#tell(lane).then(() => {
        this.#workers -= 1;
        if (lane.notices.length > 0) this.#ready.push(lane);
        else this.#lanes.delete(lane.name);
        this.#work();
      });
    }
  }

  /** Tells an actor what it is to be told, all at once. Never rejects. */
  async #tell(lane: Lane): Promise<void> {
    const self = this.#self;
    const notices = lane.notices.splice(0, TOGETHER);
    const isWatching = this.#watching().has(lane.name);
    await Promise.all(
      notices.map(async ({ what, told }) => {
        if (isWatching && !(await this.#post(lane.ref, toTold(self, lane.ref, what), told))) return;
        told.left -= 1;
        if (told.left === 0) this.#isTold(told);
      }),
    );
  }

  /** The names of the actors that watch the run. */
  #watching(): ReadonlySet<string> {
    const { watchers = NONE } = this.#ledger.state;
    if (this.#named?.of !== watchers)
      this.#named = { of: watchers, names: new Set(watchers.map(({ ref }) => actorNameOf(ref))) };
    return this.#named.names;
  }

  /** Returns false if the run has left memory: the notice is still to be sent. */
  async #post(
    ref: ActorRef,
    accepted: AcceptedRequest,
    { isRepeated, mark: { event } }: ToldEvent,
  ): Promise<boolean> {
    const { mail } = this.#context;
    try {
      if ((accepted.request.hops?.n ?? 0) > HOPS_LIMIT)
        throw new AgentError("too_deep", "it ends a chain of too many publications");
      const posted = await mail.post({
        from: this.#ledger.runId,
        accepted,
        isRepeated,
        isOwnStep: false,
        isWanted: () => !this.#stopped,
      });
      return posted !== undefined;
    } catch (thrown) {
      if (this.#stopped) return false;
      this.#refused(ref, accepted.requestId, event, toAgentError(thrown));
      return true;
    }
  }

  /** An actor that is gone watches no more; any other refusal leaves a dead letter. */
  #refused(ref: ActorRef, requestId: RequestId, event: number, { code }: AgentError): void {
    const isGone = ref.key === undefined && (code === "gone" || code === "not_found");
    if (isGone) this.#ledger.change({ type: "Watchers", watchers: this.#othersThan(ref) });
    else this.#ledger.recorder.outbox({ requestId, kind: "dead", event });
  }

  #othersThan(ref: ActorRef): readonly WatchingActor[] {
    return (this.#ledger.state.watchers ?? []).filter((watcher) => !isSameActor(watcher.ref, ref));
  }
}

const NONE: readonly WatchingActor[] = [];

/** Makes the requests that tell actors of an event of a run, equal each time they are made. */
export async function toNotices(
  log: EventLog,
  self: OwnedActor,
  event: Event,
  watchers: readonly WatchingActor[],
  newest: readonly Newest[],
): Promise<readonly AcceptedRequest[]> {
  const happened = await happenedIn(log, self, event, watchers, newest);
  return happened.flatMap(({ to, what }) => to.map(({ ref }) => toTold(self, ref, what)));
}

/** Something that happened in a run, and those that are told of it. */
interface Heard {
  readonly to: readonly WatchingActor[];
  readonly what: Happened;
}

/** What an event of a run tells those that watch it. */
async function happenedIn(
  log: EventLog,
  self: OwnedActor,
  event: Event,
  watchers: readonly WatchingActor[],
  newest: readonly Newest[],
): Promise<readonly Heard[]> {
  if (event.type === "RequestCompleted") {
    const { error } = event;
    const to = watchers.filter(
      (watcher) => watcher.since < event.id && wantsEnd(watcher, event.finish_reason),
    );
    const fails = ({ supervise }: WatchingActor): boolean =>
      supervise?.then === "escalate" && isFailure(error);
    const what = toHappened(self, event, {
      name: ENDED,
      body: toEnded(self, event),
      cause: event.request_id,
    });
    return [
      { to: to.filter((watcher) => !fails(watcher)), what },
      { to: to.filter(fails), what: { ...what, ...(error && { escalated: error }) } },
    ];
  }
  if (event.type !== "MessageReceived") return [];
  if (event.name !== WATCH) {
    const to = watchers.filter(
      ({ since, names }) => since < event.id && names?.includes(event.name) === true,
    );
    return [{ to, what: toPublication(self, event) }];
  }
  // A new subscriber gets what was published last.
  const watcher = watchers.find(({ since }) => since === event.id);
  if (watcher === undefined) return [];
  const before = newest.filter(({ id, name }) => id < event.id && watcher.names?.includes(name) === true);
  const texts = await Promise.all(
    before.map(({ id }) => readEvent(log, { runId: self.run_id, requestId: event.message_id }, id)),
  );
  return texts
    .map((text) => JSON.parse(text) as EventOf<"MessageReceived">)
    .map((each) => ({ to: [watcher], what: { ...toPublication(self, each), since: event.id } }));
}

/** What happened in a run. */
interface Happened {
  readonly event: number;
  /** The name of the message or operation of the actor that is told. */
  readonly name: string;
  readonly body: Json;
  /** When it happened, in milliseconds since 1970. */
  readonly at: number;
  /** These are the same objects for all that are told: their requests may wait for long. */
  readonly caller: NonNullable<OperationRequest["caller"]>;
  readonly hops: Hops;
  /** The event of the subscription, for what was published before. */
  readonly since?: number;
  /** Set if the actor that is told fails by that. */
  readonly escalated?: TurnError;
}

function toEnded({ agent, key }: ActorRef, event: EventOf<"RequestCompleted">): Json {
  const { request_id, run_id, finish_reason, error } = event;
  return {
    agent,
    ...(key !== undefined && { key }),
    run_id,
    request_id,
    finish_reason,
    ...(error && { error: { code: error.code, message: error.message } }),
  };
}

function toPublication(self: OwnedActor, event: EventOf<"MessageReceived">): Happened {
  const { name, body, message_id: cause, hops } = event;
  return toHappened(self, event, { name, body, cause, hops });
}

function toHappened(
  { run_id }: OwnedActor,
  { id: event, ts }: Event,
  {
    name,
    body,
    cause,
    hops,
  }: Pick<Happened, "name" | "body"> & { readonly cause: RequestId; readonly hops?: Hops | undefined },
): Happened {
  const caller = [{ run_id, request_id: cause, waits: false }];
  return { event, name, body, at: Date.parse(ts), caller, hops: nextHops(hops, ts) };
}

/** An actor, and whose it is. */
interface OwnedActor extends ActorRef {
  readonly owner: string;
}

function toTold({ owner, ...self }: OwnedActor, ref: ActorRef, happened: Happened): AcceptedRequest {
  const { event, name, body, at, caller, hops, since, escalated } = happened;
  const suffix = since === undefined ? "" : ` ${since}`;
  const id = `ntc_${digest(`${self.run_id} ${event} ${actorNameOf(ref)}${suffix}`)}` as RequestId;
  return {
    requestId: id,
    agent: ref.agent,
    request: {
      type: "OperationRequest",
      operation: name,
      input: body,
      request_id: id,
      ...(ref.key === undefined ? { run_id: ref.run_id } : { key: ref.key }),
      caller,
      hops,
    },
    sender: self,
    acceptedAt: at,
    ...(escalated && { escalated }),
    ...toOwned(owner),
  };
}

/** An event that actors are being told of. */
interface ToldEvent {
  readonly mark: OutboxMark;
  /** Whether they may have been told before. */
  readonly isRepeated: boolean;
  /** Its size in characters. */
  readonly text: number;
  /** How many notices of it have not arrived. */
  left: number;
}

/** What an actor is told; the same object for all that are told it. */
interface Notice {
  readonly what: Happened;
  readonly told: ToldEvent;
}

/** What one actor is still to be told. */
interface Lane {
  readonly name: string;
  readonly ref: ActorRef;
  readonly notices: Notice[];
}
