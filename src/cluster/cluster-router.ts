import { AgentError, toAgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import { Fenced, Owned } from "../ports/event-log.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { Router, RouterFigures, RouterHandler, SendOptions } from "../ports/router.ts";
import type { Json } from "../protocol/json.ts";
import type { RunId } from "../protocol/ids.ts";
import { backoffMs } from "../shared/backoff.ts";
import { pause } from "../shared/clock.ts";
import { RecentAnswers, answerToWire, parseAnswer, parseEnvelope, toWire } from "./envelope.ts";
import type { EnvelopeAnswer, Envelope } from "./envelope.ts";
import { isGossipMessage } from "./gossip-messages.ts";
import { Heartbeat, isGreeting } from "./heartbeat.ts";
import { LEASE_MS } from "./known-nodes.ts";
import type { Liveness } from "./known-nodes.ts";
import { Placement } from "./placement.ts";
import { Takeover } from "./takeover.ts";
import type { Transport } from "./transport.ts";
import { WakeExchange } from "./wake-exchange.ts";
import { isWakeMessage } from "./wake-messages.ts";

/** How long a message is sent again before its sender gets an error, in milliseconds. */
const GIVE_UP_MS = 10_000;

/** The pause before a message is sent again, in milliseconds. */
const RETRY = { firstMs: 20, mostMs: 500 };

/** The longest lease, in milliseconds: the runs of a dead node wait for so long. */
const MOST_LEASE_MS = 60_000;

/** So few nodes cost the database next to nothing, and it is told at once when one of them does not reach it. */
const GOSSIP_ABOVE = 10;

/** What `clusterRouter` takes. */
export interface ClusterRouterOptions {
  /** A log that several nodes share. */
  readonly log: EventLog;
  /** Carries messages to other nodes. */
  readonly transport: Transport;
  readonly environment: Environment;
  /** Reports errors that belong to no message. */
  readonly fault?: (message: string, thrown: unknown) => void;
  /**
   * With more living nodes than this, they ping each other in place of a heartbeat to the database every 0.3 s each, whose cost
   * grows with the square of their number. Default 10.
   */
  readonly gossipAbove?: number;
  /**
   * How long after its newest heartbeat, or answered ping, this node is dead to the others, which then continue its runs, in milliseconds:
   * 1,500 to 60,000, default 1,500. Longer for machines that stand still now and then; the same for all nodes.
   */
  readonly deadAfterMs?: number;
}

/**
 * A router for several nodes that share one log. The claim in the log decides who owns a run; the table of nodes only
 * says where to look first, so that an old view of it costs time and no data.
 */
export function clusterRouter(options: ClusterRouterOptions): Router {
  return new ClusterRouter(options);
}

class ClusterRouter implements Router {
  readonly #transport: Transport;
  readonly #environment: Environment;
  readonly #heartbeat: Heartbeat;
  readonly #placement: Placement;
  readonly #takeover: Takeover;
  /** Absent if the log cannot let it carry wakes. */
  readonly #wakes: WakeExchange | undefined;
  readonly #recent = new RecentAnswers();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #figures = { takenOver: 0, forwarded: 0, redirected: 0, repeated: 0, fenced: 0 };
  #handler: RouterHandler | undefined;

  constructor({
    log,
    transport,
    environment,
    fault = () => {},
    gossipAbove = GOSSIP_ABOVE,
    deadAfterMs,
  }: ClusterRouterOptions) {
    if (deadAfterMs !== undefined && !(deadAfterMs >= LEASE_MS && deadAfterMs <= MOST_LEASE_MS))
      throw new AgentError("invalid_request", `deadAfterMs is ${deadAfterMs}, and must be 1500 to 60000`, {
        hint: "leave it out for 1500",
      });
    const { node } = log;
    const directory = log.nodes?.();
    if (node === undefined || directory === undefined)
      throw new AgentError("invalid_request", "several nodes cannot share this log", {
        hint: "use a log that has nodes, or no cluster router",
      });
    this.#transport = transport;
    this.#environment = environment;
    const wakes = log.wakes?.();
    this.#heartbeat = new Heartbeat({
      directory,
      transport,
      node,
      wakes: wakes !== undefined,
      gossipAbove,
      ...(deadAfterMs !== undefined && { deadAfterMs }),
      environment,
      fault,
      speaking: () => this.#handler?.speaking ?? 0,
      changed: () => {
        this.#takeover.soon();
        this.#wakes?.update();
      },
    });
    this.#wakes =
      wakes &&
      new WakeExchange({
        wakes,
        transport,
        node,
        environment,
        members: () => this.#heartbeat.members,
        look: () => this.#heartbeat.look(),
      });
    this.#placement = new Placement(log, this.#heartbeat);
    this.#takeover = new Takeover({
      environment,
      fault,
      view: () => this.#heartbeat.view,
      look: async (options) => {
        this.#figures.takenOver += (await this.#handler?.takeOver(options)) ?? 0;
      },
    });
  }

  async send(runId: RunId, message: Json, { from, isNew = false }: SendOptions = {}): Promise<Json> {
    const handler = this.#serving;
    const sender = from !== undefined && { from: { runId: from, node: this.#self } };
    const envelope = { id: this.#environment.newId(), runId, message, ...sender };
    const giveUpMs = this.#environment.monotonic() + GIVE_UP_MS;
    let isRepeated = false;
    let target = handler.holds(runId) ? this.#self : undefined;
    for (let failures = 0; ; failures += 1) {
      // After one attempt another node may have the run.
      const answer = await this.#ask(target, { ...envelope, isRepeated }, isNew && failures === 0);
      if (answer.type === "reply") return answer.reply;
      if (answer.type === "error") throw answer.error;
      isRepeated ||= answer.isUncertain === true;
      const isSure = answer.owner !== undefined && answer.owner !== target;
      target = isSure ? answer.owner : undefined;
      this.#figures.redirected += isSure ? 1 : 0;
      if (this.#environment.monotonic() >= giveUpMs) throw answer.error ?? notReachable(runId);
      if (!isSure || failures > 0) await pause(this.#environment, backoffMs(RETRY, failures));
      this.#figures.repeated += 1;
    }
  }

  async serve(handler: RouterHandler): Promise<() => Promise<void>> {
    this.#handler = handler;
    const stopListening = await this.#transport.listen((data) => this.#receive(data));
    try {
      await this.#heartbeat.join(handler.agents);
    } catch (error) {
      await this.#heartbeat.leave({ tell: false });
      this.#wakes?.stop();
      await stopListening();
      throw error;
    }
    this.#takeover.start();
    this.#wakes?.start();
    return async () => {
      this.#takeover.stop();
      await this.#heartbeat.leave({ tell: true });
      this.#wakes?.stop();
      await stopListening();
      this.#handler = undefined;
      await Promise.allSettled(this.#underWay);
    };
  }

  async drain(): Promise<void> {
    this.#takeover.stop();
    if (this.#heartbeat.self.state !== "left") await this.#heartbeat.drain();
  }

  async isMine(runId: RunId): Promise<boolean> {
    return this.#heartbeat.self.state === "active" && this.#placement.isMine(runId);
  }

  leads(task: string): boolean {
    return this.#placement.leads(task);
  }

  members(): ReturnType<Router["members"]> {
    return this.#heartbeat.members;
  }

  health(): ReturnType<Router["health"]> {
    return this.#heartbeat.health;
  }

  speakingElsewhere(): number {
    return this.#heartbeat.speakingElsewhere;
  }

  figures(): RouterFigures {
    return { ...this.#figures, heartbeatAgeMs: this.#heartbeat.ageMs };
  }

  get #self(): string {
    return this.#heartbeat.self.node;
  }

  get #liveness(): Liveness {
    return this.#heartbeat.livenessOf(this.#self);
  }

  get #serving(): RouterHandler {
    if (this.#handler) return this.#handler;
    throw new AgentError("unavailable", "the server is not connected to the other nodes", { retryAfterS: 1 });
  }

  /** Sends a message once: to a node, or to where the run is. */
  async #ask(known: string | undefined, envelope: Envelope, isNew: boolean): Promise<EnvelopeAnswer> {
    let target = known;
    try {
      target ??= await this.#placement.locate(envelope.runId, { isNew });
      if (this.#liveness !== "alive") await this.#checkSender(envelope);
    } catch (error) {
      return { type: "error", error: notReadable(error) };
    }
    if (target === this.#self) return this.#deliver(envelope, isNew);
    const member = target === undefined ? undefined : this.#heartbeat.find(target);
    return member === undefined ? { type: "moved" } : this.#forward(member, envelope);
  }

  /**
   * Throws if another node has taken over the run that sends a message. The new owner sends the message itself and may
   * have continued after its refusal, so the copy of the old owner must not arrive later. The sending node checks this
   * after its own absence and before it repeats a message, the receiving node after an absence of the sender.
   */
  async #checkSender({ from }: Envelope): Promise<void> {
    if (from === undefined || (await this.#placement.ownerOf(from.runId)) === from.node) return;
    const cause = new Fenced(`run ${from.runId} was taken over by another node`);
    throw new AgentError("unavailable", cause.message, { retryAfterS: 1, cause });
  }

  async #forward({ node, url }: { node: string; url: string }, envelope: Envelope): Promise<EnvelopeAnswer> {
    this.#figures.forwarded += 1;
    const abort = new AbortController();
    const stop = this.#heartbeat.onceDead(node, () => abort.abort());
    let uncertain: EnvelopeAnswer = { type: "moved", isUncertain: true };
    try {
      const answer = parseAnswer(await this.#transport.send(url, toWire(envelope), abort.signal));
      if (answer.type !== "error" || answer.error.code !== "unavailable") return answer;
      // The same node or another one may take it later.
      uncertain = { ...uncertain, error: answer.error };
    } catch {
      // Another attempt follows.
    } finally {
      stop();
    }
    // Until now this node may have lost the run, and the other one has refused the message for that.
    const error = await this.#checkSender(envelope).catch(notReadable);
    return error === undefined ? uncertain : { type: "error", error };
  }

  /** Answers a message of another node. */
  async #receive(data: Json): Promise<Json> {
    if (isGreeting(data)) {
      this.#heartbeat.greeted(data);
      return null;
    }
    if (isGossipMessage(data)) return this.#heartbeat.receive(data);
    if (isWakeMessage(data)) return this.#wakes?.receive(data) ?? null;
    const envelope = parseEnvelope(data);
    const answer = await this.#recent.once(envelope.id, () => this.#answer(envelope));
    return answerToWire(answer);
  }

  /** Takes a message, unless the run has another living owner: the view of the sender may be old. */
  async #answer(envelope: Envelope): Promise<EnvelopeAnswer> {
    const { from } = envelope;
    // The message may have waited here during the absence of this node, and its sender may have another answer since
    // then. A sender that still waits sends it again.
    if (this.#liveness !== "alive" && this.#recent.isFirst(envelope.id)) return { type: "moved" };
    try {
      if (from && !this.#heartbeat.ownsItsRuns(from.node)) await this.#checkSender(envelope);
      if (!this.#serving.holds(envelope.runId)) {
        const owner = await this.#placement.otherOwner(envelope.runId);
        if (owner !== undefined) return { type: "moved", owner };
        if (this.#heartbeat.self.state !== "active") return { type: "moved" };
      }
    } catch (error) {
      return { type: "error", error: notReadable(error) };
    }
    return this.#deliver(envelope);
  }

  /** Delivers a message to a run of this node. A suspect node takes none until the engine has answered it. */
  async #deliver({ runId, message, isRepeated }: Envelope, isNew = false): Promise<EnvelopeAnswer> {
    if (this.#liveness === "suspect") return { type: "moved" };
    try {
      const delivery = this.#serving.deliver(runId, message, { isRepeated, ...(isNew && { isNew }) });
      this.#underWay.add(delivery);
      const forget = (): void => void this.#underWay.delete(delivery);
      delivery.then(forget, forget);
      return { type: "reply", reply: await delivery };
    } catch (thrown) {
      if (thrown instanceof Owned) return { type: "moved", owner: thrown.owner };
      const error = toAgentError(thrown);
      if (!(error.cause instanceof Fenced)) return { type: "error", error };
      this.#figures.fenced += 1;
      return { type: "moved", isUncertain: true };
    }
  }
}

function notReachable(runId: RunId): AgentError {
  return new AgentError("unavailable", `run ${runId} cannot be reached at present`, { retryAfterS: 1 });
}

function notReadable(cause: unknown): AgentError {
  if (cause instanceof AgentError) return cause;
  return new AgentError("unavailable", "the log cannot be read at present", { retryAfterS: 1, cause });
}
