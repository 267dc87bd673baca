import { AgentError, toAgentError } from "../errors.ts";
import type { Environment } from "../ports/environment.ts";
import { Fenced, Owned } from "../ports/event-log.ts";
import type { EventLog } from "../ports/event-log.ts";
import type { Router, RouterFigures, RouterHandler, SendOptions } from "../ports/router.ts";
import type { Json } from "../protocol/json.ts";
import type { RunId } from "../protocol/ids.ts";
import { RecentAnswers, answerToWire, parseAnswer, parseEnvelope, toWire } from "./envelope.ts";
import type { Answer, Envelope } from "./envelope.ts";
import { greet, isGreeting, tellOthers } from "./greet.ts";
import { Membership } from "./membership.ts";
import { Placement } from "./placement.ts";
import { TakeOverLoop } from "./take-over.ts";
import type { Transport } from "./transport.ts";

/** How long a message is sent again before its sender gets an error, in milliseconds. */
const GIVE_UP_MS = 10_000;

/** The pause before a message is sent again, in milliseconds; doubled each time. */
const RETRY_MS = { first: 20, most: 500 };

/** What `clusterRouter` takes. */
export interface ClusterRouterOptions {
  /** A log that several nodes share. */
  readonly log: EventLog;
  /** Carries messages to other nodes. */
  readonly transport: Transport;
  readonly environment: Environment;
  /** Reports errors that belong to no message. */
  readonly fault?: (message: string, thrown: unknown) => void;
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
  readonly #membership: Membership;
  readonly #placement: Placement;
  readonly #fault: NonNullable<ClusterRouterOptions["fault"]>;
  readonly #takeOver: TakeOverLoop;
  readonly #recent = new RecentAnswers();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #figures = { takenOver: 0, forwarded: 0, redirected: 0, repeated: 0, fenced: 0 };
  #handler: RouterHandler | undefined;

  constructor({ log, transport, environment, fault = () => {} }: ClusterRouterOptions) {
    const { node } = log;
    const directory = log.nodes?.();
    if (node === undefined || directory === undefined)
      throw new AgentError("invalid_request", "several nodes cannot share this log", {
        hint: "use a log that has nodes, or no cluster router",
      });
    this.#transport = transport;
    this.#environment = environment;
    this.#fault = fault;
    this.#membership = new Membership({
      directory,
      node,
      url: transport.url,
      environment,
      changed: () => this.#takeOver.soon(),
    });
    this.#placement = new Placement(log, this.#membership);
    this.#takeOver = new TakeOverLoop(environment, fault, async (change) => {
      const { isAway, isSuspect } = this.#membership;
      if (isAway) return false;
      // A suspect node continues only released runs, and looks again when it may judge other nodes.
      const hasChanged = change.hasChanged && !isSuspect;
      this.#figures.takenOver += (await this.#handler?.takeOver({ hasChanged })) ?? 0;
      return !isSuspect;
    });
  }

  async send(runId: RunId, message: Json, { from }: SendOptions = {}): Promise<Json> {
    const handler = this.#serving;
    const sender = from !== undefined && { from: { runId: from, node: this.#self } };
    const envelope = { id: this.#environment.newId(), runId, message, ...sender };
    const giveUpMs = this.#environment.monotonic() + GIVE_UP_MS;
    let isRepeated = false;
    let target = handler.holds(runId) ? this.#self : undefined;
    for (let pauseMs = RETRY_MS.first; ; pauseMs = Math.min(pauseMs * 2, RETRY_MS.most)) {
      const answer = await this.#ask(target, { ...envelope, isRepeated });
      if (answer.type === "reply") return answer.reply;
      if (answer.type === "error") throw answer.error;
      isRepeated ||= answer.isUncertain === true;
      const isSure = answer.owner !== undefined && answer.owner !== target;
      target = isSure ? answer.owner : undefined;
      this.#figures.redirected += isSure ? 1 : 0;
      if (this.#environment.monotonic() >= giveUpMs) throw answer.error ?? notReachable(runId);
      if (!isSure || pauseMs > RETRY_MS.first) await this.#pause(pauseMs);
      this.#figures.repeated += 1;
    }
  }

  async serve(handler: RouterHandler): Promise<() => Promise<void>> {
    this.#handler = handler;
    const stopListening = await this.#transport.listen((data) => this.#receive(data));
    try {
      await this.#membership.join(handler.agents);
      await greet(this.#membership, this.#transport, this.#environment, this.#fault);
    } catch (error) {
      await this.#membership.say("left");
      this.#membership.stop();
      await stopListening();
      throw error;
    }
    this.#takeOver.start();
    return async () => {
      this.#takeOver.stop();
      await this.#say("left");
      this.#membership.stop();
      await stopListening();
      this.#handler = undefined;
      await Promise.allSettled(this.#underWay);
    };
  }

  async drain(): Promise<void> {
    this.#takeOver.stop();
    if (this.#membership.self.state !== "left") await this.#say("draining");
  }

  async isMine(runId: RunId): Promise<boolean> {
    return this.#membership.self.state === "active" && this.#placement.isMine(runId);
  }

  leads(task: string): boolean {
    return this.#membership.leads(task);
  }

  members(): ReturnType<Router["members"]> {
    return this.#membership.members;
  }

  health(): ReturnType<Router["health"]> {
    return this.#membership.health;
  }

  figures(): RouterFigures {
    return { ...this.#figures, beatAgeMs: this.#membership.beatAgeMs };
  }

  get #self(): string {
    return this.#membership.self.node;
  }

  get #serving(): RouterHandler {
    if (this.#handler) return this.#handler;
    throw new AgentError("unavailable", "the server is not connected to the other nodes", { retryAfterS: 1 });
  }

  /** Sends a message once: to a node, or to where the run is. */
  async #ask(known: string | undefined, envelope: Envelope): Promise<Answer> {
    let target = known;
    try {
      target ??= await this.#placement.locate(envelope.runId);
      if (this.#membership.wasAway) await this.#checkSender(envelope);
    } catch (error) {
      return { type: "error", error: notReadable(error) };
    }
    if (target === this.#self) return this.#deliver(envelope);
    const member = target === undefined ? undefined : this.#membership.find(target);
    return member === undefined ? { type: "moved" } : this.#forward(member, envelope);
  }

  /**
   * Throws if another node has taken over the run that sends a message. The new owner sends the message itself and may
   * have continued after its refusal, so the copy of the old owner must not arrive later. The sending node checks this
   * after its own absence, the receiving node after an absence of the sender.
   */
  async #checkSender({ from }: Envelope): Promise<void> {
    if (from === undefined || (await this.#placement.ownerOf(from.runId)) === from.node) return;
    const cause = new Fenced(`run ${from.runId} was taken over by another node`);
    throw new AgentError("unavailable", cause.message, { retryAfterS: 1, cause });
  }

  async #forward({ node, url }: { node: string; url: string }, envelope: Envelope): Promise<Answer> {
    this.#figures.forwarded += 1;
    const abort = new AbortController();
    const stop = this.#membership.onceGone(node, () => abort.abort());
    try {
      const answer = parseAnswer(await this.#transport.send(url, toWire(envelope), abort.signal));
      // The same node or another one may take it later.
      if (answer.type !== "error" || answer.error.code !== "unavailable") return answer;
      return { type: "moved", isUncertain: true, error: answer.error };
    } catch {
      return { type: "moved", isUncertain: true };
    } finally {
      stop();
    }
  }

  /** Answers a message of another node. */
  async #receive(data: Json): Promise<Json> {
    if (isGreeting(data)) {
      this.#membership.look();
      return null;
    }
    const envelope = parseEnvelope(data);
    const answer = await this.#recent.once(envelope.id, () => this.#answer(envelope));
    return answerToWire(answer);
  }

  /** Takes a message, unless the run has another living owner: the view of the sender may be old. */
  async #answer(envelope: Envelope): Promise<Answer> {
    const { from } = envelope;
    // The message may have waited here during the absence of this node, and its sender may have another answer since
    // then. A sender that still waits sends it again.
    if (this.#membership.wasAway && this.#recent.isFirst(envelope.id)) return { type: "moved" };
    try {
      if (from && !this.#membership.isSound(from.node)) await this.#checkSender(envelope);
      if (!this.#serving.holds(envelope.runId)) {
        const owner = await this.#placement.otherOwner(envelope.runId);
        if (owner !== undefined) return { type: "moved", owner };
        if (this.#membership.self.state !== "active") return { type: "moved" };
      }
    } catch (error) {
      return { type: "error", error: notReadable(error) };
    }
    return this.#deliver(envelope);
  }

  /** Delivers a message to a run of this node. A stalled node takes none until the engine has answered it. */
  async #deliver({ runId, message, isRepeated }: Envelope): Promise<Answer> {
    if (this.#membership.isStalled) return { type: "moved" };
    try {
      const delivery = this.#serving.deliver(runId, message, { isRepeated });
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

  /** Changes the state of this node in the table of nodes, and makes the others read it. */
  async #say(state: "draining" | "left"): Promise<void> {
    await this.#membership.say(state);
    await tellOthers(this.#membership, this.#transport, this.#environment);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#environment.timer(ms, resolve);
    });
  }
}

function notReachable(runId: RunId): AgentError {
  return new AgentError("unavailable", `run ${runId} cannot be reached at present`, { retryAfterS: 1 });
}

function notReadable(cause: unknown): AgentError {
  if (cause instanceof AgentError) return cause;
  return new AgentError("unavailable", "the log cannot be read at present", { retryAfterS: 1, cause });
}
