import type { RunId } from "troupe/protocol";
import type { Picker } from "../../laws/program.ts";
import type { Disk } from "./disk.ts";
import type { RemoteNetwork } from "../remote/network.ts";
import type { Hosts } from "./hosts.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { Fault } from "../plan.ts";
import { outsider } from "../scheduler.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Observer } from "../checks/observer.ts";

/** The targets of faults. */
export interface FaultTargets {
  readonly scheduler: Scheduler;
  readonly pick: Picker;
  readonly disk: Disk;
  readonly hosts: Hosts | Nodes;
  readonly remoteNetwork: RemoteNetwork;
  readonly observer: Observer;
}

/** The planned faults, each of which occurs at its time between two steps. */
export class FaultInjector {
  readonly #waiting: Fault[];
  /** The number of requested appends. */
  commits = 0;
  /** The number of faults that have occurred. */
  count = 0;

  constructor(faults: readonly Fault[]) {
    this.#waiting = [...faults];
  }

  /** No more of the planned faults occur. */
  stop(): void {
    this.#waiting.length = 0;
  }

  /** Called before each step. */
  stepped(victims: FaultTargets): void {
    const { steps } = victims.scheduler;
    this.#apply(victims, ({ at }) => at.moment === "step" && at.step <= steps);
  }

  /** An append was requested, or is written and not acknowledged. */
  append(victims: FaultTargets, moment: "asked" | "written"): void {
    if (moment === "asked") this.commits += 1;
    this.#apply(victims, ({ at }) => at.moment === moment && at.commit <= this.commits);
  }

  #apply(victims: FaultTargets, isDue: (fault: Fault) => boolean): void {
    for (let index = this.#waiting.length - 1; index >= 0; index -= 1) {
      const fault = this.#waiting[index];
      if (fault === undefined || !isDue(fault)) continue;
      this.#waiting.splice(index, 1);
      this.count += 1;
      victims.scheduler.postFirst(() => happen(victims, fault));
    }
  }
}

function happen(
  { scheduler, pick, disk, hosts, remoteNetwork, observer }: FaultTargets,
  { kind, forMs }: Fault,
): void {
  switch (kind) {
    case "kill":
      hosts.kill(forMs);
      return;
    case "fail":
      disk.failNext();
      // Some disks recover by themselves, others only when they are reopened.
      scheduler.timer(outsider, forMs, pick.chance(70) ? () => disk.repair() : () => hosts.kill(forMs));
      return;
    case "rival":
      hosts.invade(forMs);
      return;
    case "steal":
      void disk.steal(pick.of([...observer.runs.keys(), "run_of_nobody"]) as RunId);
      return;
    case "stop":
      void hosts.stop(forMs);
      return;
    case "pause":
      hosts.pause(forMs);
      return;
    case "apart":
      remoteNetwork.breakFor(forMs);
      return;
    case "cut":
      hosts.cut(forMs);
      return;
    case "clock":
      hosts.clock.step(forMs);
      return;
    default: {
      const never: never = kind;
      return never;
    }
  }
}
