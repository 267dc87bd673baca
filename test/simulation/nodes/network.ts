import { isGossipMessage } from "../../../src/cluster/gossip-messages.ts";
import type { Transport } from "../../../src/cluster/transport.ts";
import type { Json } from "../../../src/protocol/json.ts";
import type { Picker } from "../../laws/program.ts";
import { outsider } from "../scheduler.ts";
import type { Doer, Scheduler } from "../scheduler.ts";

/** A node that receives messages. */
interface Receiver {
  readonly doer: Doer;
  receive(message: Json): Promise<Json>;
}

/** What the network between nodes is given. */
export interface NodeNetworkOptions {
  readonly scheduler: Scheduler;
  readonly pick: Picker;
  /** The percentage of messages that are lost, or whose answers are. */
  readonly lossPercent: number;
}

/** The network between nodes: messages take time, arrive in any order, get lost, and arrive twice. */
export class NodeNetwork {
  readonly #options: NodeNetworkOptions;
  readonly #receivers = new Map<string, Receiver>();
  /** Whether a message has been on its way for long, so that it can arrive after its sender had another answer. */
  hasLate: boolean = false;
  /** The messages on their way to a node, which break when it dies. */
  readonly #open = new Map<Doer, Set<() => void>>();

  constructor(options: NodeNetworkOptions) {
    this.#options = options;
  }

  /** The connection of a node. */
  transport(node: string, doer: Doer): Transport {
    const url = `http://${node}`;
    return {
      url,
      listen: async (receive) => {
        this.#receivers.set(url, { doer, receive });
        return async () => void this.#receivers.delete(url);
      },
      // Pings never end, so the simulation does not wait for late ones.
      send: (to, message, signal) =>
        this.#send(doer, to, JSON.stringify(message), { signal, endless: isGossipMessage(message) }),
    };
  }

  /** A node has died. */
  died(doer: Doer): void {
    for (const fail of this.#open.get(doer) ?? []) fail();
    this.#open.delete(doer);
  }

  #send(
    from: Doer,
    url: string,
    message: string,
    { signal, endless }: { readonly signal: AbortSignal; readonly endless: boolean },
  ): Promise<Json> {
    const { scheduler, pick } = this.#options;
    const to = this.#receivers.get(url);
    return new Promise((resolve, reject) => {
      const fail = (): void => {
        if (to) this.#open.get(to.doer)?.delete(fail);
        scheduler.post(from, () => reject(new Error("the connection is lost")));
      };
      signal.addEventListener("abort", fail);
      if (to?.doer.alive !== true || this.#isLost()) {
        fail();
        return;
      }
      const open = this.#open.get(to.doer) ?? new Set();
      this.#open.set(to.doer, open);
      open.add(fail);
      const answer = (text: string): void => {
        if (this.#isLost()) fail();
        else scheduler.post(from, () => resolve(JSON.parse(text) as Json));
        open.delete(fail);
      };
      const deliver = (): void => {
        to.receive(JSON.parse(message) as Json).then(
          (reply) => scheduler.post(outsider, () => answer(JSON.stringify(reply))),
          fail,
        );
      };
      this.#after(to.doer, deliver, endless);
      if (pick.chance(5)) this.#after(to.doer, deliver, endless);
    });
  }

  #after(doer: Doer, run: () => void, endless: boolean): void {
    const { scheduler, pick } = this.#options;
    if (pick.chance(80)) scheduler.post(doer, run);
    else {
      // Few are so late that their sender has been replaced.
      const isLate = pick.chance(5);
      this.hasLate ||= isLate && !endless;
      scheduler.timer(doer, 1 + pick.below(isLate ? 20_000 : 200), run, endless);
    }
  }

  #isLost(): boolean {
    return this.#options.pick.chance(this.#options.lossPercent);
  }
}
