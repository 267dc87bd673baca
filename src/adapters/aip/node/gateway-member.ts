import { AgentError } from "../../../errors.ts";
import { Channel } from "../rpc/channel.ts";
import { every, pauseUnlessAborted, within } from "../../../shared/clock.ts";
import type { MonotonicClock } from "../../../shared/clock.ts";
import { methodPath } from "../rpc/methods.ts";
import type { OperatorReport } from "../rpc/server.ts";
import { STATUS, toCallStatus } from "../rpc/status.ts";
import type { Library } from "../wire/load.ts";
import type { AgentInfo } from "../wire/messages.ts";

export interface GatewayMemberOptions {
  readonly library: Library;
  readonly clock: MonotonicClock;
  readonly report: OperatorReport;
  /** HOST:PORT of the gateway. */
  readonly gateway: string;
  /** What the agent registers at the gateway; read for each registration. */
  describe(): AgentInfo;
}

const HEARTBEAT_MS = 10_000;

/** After so many heartbeats without an answer the agent is registered again. */
const FAILURES = 3;

/** How long the gateway may keep an entry of an earlier process, whose lease has to end first. */
const STALE = { ms: 45_000, pauseMs: 5_000 };

/** How long the gateway may take to answer a deregistration. */
const LEAVE_MS = 1_000;

/** The registration of one agent at a gateway. */
export class GatewayMember {
  readonly #options: GatewayMemberOptions;
  readonly #channel: Channel;
  readonly #left = new AbortController();
  #failures = 0;
  #stopHeartbeats = (): void => {};

  constructor(options: GatewayMemberOptions) {
    this.#options = options;
    this.#channel = new Channel(options.library, options.gateway);
  }

  /** Whether the gateway has not answered some heartbeats, or not known the agent, and has not taken it again since. */
  get isLost(): boolean {
    return this.#failures >= FAILURES;
  }

  /** Registers the agent, and sends heartbeats from then on. */
  async join(): Promise<void> {
    const { clock } = this.#options;
    const startedAt = clock.monotonic();
    for (;;) {
      try {
        await this.#register();
        break;
      } catch (thrown) {
        const { code, details } = toCallStatus(thrown);
        const isStale = code === STATUS.alreadyExists && clock.monotonic() - startedAt < STALE.ms;
        if (!isStale || this.#left.signal.aborted) {
          const { agent_id: id } = this.#options.describe();
          throw new AgentError(
            "unavailable",
            `the gateway ${this.#options.gateway} does not take ${id}: ${details}`,
          );
        }
      }
      await pauseUnlessAborted(clock, STALE.pauseMs, this.#left.signal);
    }
    this.#stopHeartbeats = every(clock, HEARTBEAT_MS, () => this.#beat());
  }

  async leave(): Promise<void> {
    this.#left.abort();
    this.#stopHeartbeats();
    const { agent_id: id } = this.#options.describe();
    const done = this.#channel
      .call(
        methodPath("GatewayService", "DeregisterNode"),
        ["DeregisterNodeRequest", "DeregisterNodeResponse"],
        {
          node_id: id,
        },
      )
      // Without an answer the gateway removes it when its lease ends.
      .catch(() => {});
    await within(this.#options.clock, LEAVE_MS, done);
    this.#channel.close();
  }

  async #register(): Promise<void> {
    await this.#channel.call(
      methodPath("GatewayService", "RegisterAgent"),
      ["AgentInfo", "RegisterAgentResponse"],
      this.#options.describe(),
    );
    this.#failures = 0;
  }

  async #beat(): Promise<void> {
    const { agent_id: id } = this.#options.describe();
    const path = methodPath("GatewayService", "Heartbeat");
    try {
      const answer = await this.#channel.call(path, ["HeartbeatRequest", "HeartbeatResponse"], {
        sender_id: id,
      });
      // An answer without success is certain: the gateway does not know the agent any more.
      this.#failures = answer.success ? 0 : FAILURES;
    } catch {
      this.#failures += 1;
    }
    if (this.#failures < FAILURES || this.#left.signal.aborted) return;
    await this.#register().catch((thrown: unknown) => {
      const { gateway, report } = this.#options;
      if (this.#failures === FAILURES)
        report(
          `the AIP gateway ${gateway} has lost agent ${id}: ${toCallStatus(thrown).details}; trying again`,
        );
    });
  }
}
