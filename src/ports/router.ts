import type { Json } from "../protocol/json.ts";
import type { RunId } from "../protocol/ids.ts";
import type { NodeAgent, NodePresence } from "./node-directory.ts";

/**
 * Delivers messages to the owner of a run, on any node. With one process, that is this process.
 *
 * A message can arrive twice; its receiver recognizes it by its id. A reply is sent only after the message's effect is
 * in the log. Only the claim in the log decides who owns a run; what a router knows about other nodes is a hint.
 */
export interface Router {
  /** Sends a message to the run's owner; assigns an owner if there is none. Throws only AgentErrors. */
  send(runId: RunId, message: Json, options?: SendOptions): Promise<Json>;

  /**
   * Registers this node as a possible owner of runs until the returned function is called. Resolves when the other nodes
   * are known; rejects if the router is drained before.
   */
  serve(handler: RouterHandler): Promise<() => Promise<void>>;

  /** From now on this node takes no runs that it does not hold. Resolves when the other nodes can know that. */
  drain(): Promise<void>;

  /** Whether this node is the one to continue a run that no living node owns. */
  isMine(runId: RunId): Promise<boolean>;

  /** Whether this node is the one that does a task for all nodes. Another one may think the same for a short time. */
  leads(task: string): boolean;

  /** The known nodes; empty with one process. */
  members(): readonly Member[];

  /** Whether this node knows the other nodes, and if not, why. */
  health(): RouterHealth;

  /** About how many runs say texts on other nodes, as these have told lately. Absent with one process. */
  speakingElsewhere?(): number;

  /** What the router has done; absent with one process. */
  figures?(): RouterFigures;
}

/** A node as this node knows it. */
export interface Member extends NodePresence {
  /** Whether it is this node. */
  readonly isSelf: boolean;
  /** Whether it can own runs. A node is not judged dead while this node does not hear of any node itself. */
  readonly isAlive: boolean;
  /** The time since its last heartbeat, in milliseconds. */
  readonly ageMs: number;
}

/** The state of a router. */
export interface RouterHealth {
  readonly ready: boolean;
  /** The reason, in a sentence. */
  readonly reason?: string;
}

/** Counts since the start of the node, for metrics. */
export interface RouterFigures {
  /** Runs of other nodes that this one has continued. */
  readonly takenOver: number;
  /** Messages that were sent to other nodes. */
  readonly forwarded: number;
  /** Messages that were sent to one node, which named another one. */
  readonly redirected: number;
  /** Messages that were sent again. */
  readonly repeated: number;
  /** Messages to runs that another node had taken in the meantime. */
  readonly fenced: number;
  /** The age of the newest heartbeat of this node, in milliseconds. */
  readonly heartbeatAgeMs: number;
}

/** How a message is sent. */
export interface SendOptions {
  /**
   * The run that sends it. If this node has lost that run to another one, the message is not sent: the error
   * `unavailable` has `Fenced` as its cause.
   */
  readonly from?: RunId;
  /** The sender has just made the id of the run, so that no node has it. */
  readonly isNew?: boolean;
}

/** How a message is delivered. */
export interface DeliverOptions {
  /** Whether the message may have had its effect before, through this node or another one. */
  readonly isRepeated?: boolean;
  /** Whether the sender, on this node, has just made the id of the run. Never together with `isRepeated`. */
  readonly isNew?: boolean;
}

/** Why a node looks for runs without a living owner. */
export interface TakeoverOptions {
  /** Whether nodes have joined, died or left since the last time. */
  readonly hasChanged: boolean;
}

/** Handles messages for the runs that a node owns. */
export interface RouterHandler {
  /** The agents that the node serves, by name. */
  readonly agents: Readonly<Record<string, NodeAgent>>;
  /** How many runs say texts on this node, for the other ones. */
  readonly speaking?: number;
  /** Handles a message for a run; activates the run if needed. Throws `Owned` if another living node owns it. */
  deliver(runId: RunId, message: Json, options?: DeliverOptions): Promise<Json>;
  /** Whether the run is in memory. */
  holds(runId: RunId): boolean;
  /** Continues the runs without a living owner that are this node's to continue. Resolves with their number. */
  takeOver(options: TakeoverOptions): Promise<number>;
}

/** A run that has changed, and the claim under which it did; 0 if that claim is not known. */
export interface RunWake {
  readonly runId: RunId;
  readonly epoch: number;
}

/**
 * The wakes of a log that several nodes share. The log alone tells each change to all nodes. With a carrier, a change goes only
 * to the nodes where somebody follows the run.
 */
export interface LogWakes {
  /** From now on a carrier knows what is followed here, and gets the changes, until the returned function is called. */
  carry(carrier: WakeCarrier): () => void;

  /** Other nodes have changed runs. */
  heard(changes: readonly RunWake[]): void;

  /** Tells changes to all nodes, because a carrier could not. */
  tellAll(changes: readonly RunWake[]): void;

  /** A node has died, perhaps before it told its newest changes: the log looks for them at once. */
  look(): void;

  /** Tells a node over the log that all messages up to a number say no longer what is followed here. */
  disown(node: string, number: number): void;
}

/** Carries wakes between nodes. */
export interface WakeCarrier {
  /** Somebody follows a run here that this node does not own; with `undefined`, all runs. */
  follow(runId: RunId | undefined): void;

  /** No reader follows it any more. */
  unfollow(runId: RunId | undefined): void;

  /** This node has changed runs. The nodes that the carrier reaches and that follow them are told. */
  tell(changes: readonly RunWake[]): void;

  /** Whether all living nodes get the wakes that they need from the carrier. */
  readonly reachesAll: boolean;

  /**
   * What the carrier knows of a node: it may be `carried`, counted by `reachesAll`, `gone` for good, or one that `listens` to the log
   * alone. `undefined` for one that it does not know.
   */
  standingOf(node: string): "carried" | "gone" | "listens" | undefined;

  /** A node has said that all its messages up to a number say no longer what it follows. */
  disowned(node: string, number: number): void;
}
