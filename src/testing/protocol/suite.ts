import type { Theme } from "./case.ts";
import { asks } from "./cases/actors/asks.ts";
import { deadlines } from "./cases/actors/deadlines.ts";
import { keys } from "./cases/actors/keys.ts";
import { machines } from "./cases/actors/machines.ts";
import { cancels } from "./cases/requests/cancels.ts";
import { configuration } from "./cases/server/configuration.ts";
import { discovery } from "./cases/server/discovery.ts";
import { files } from "./cases/runs/files.ts";
import { filters } from "./cases/events/filters.ts";
import { idempotency } from "./cases/requests/idempotency.ts";
import { messages } from "./cases/requests/messages.ts";
import { polling } from "./cases/events/polling.ts";
import { starts } from "./cases/server/starts.ts";
import { queue } from "./cases/requests/queue.ts";
import { races } from "./cases/requests/races.ts";
import { refusals } from "./cases/server/refusals.ts";
import { answers } from "./cases/requests/answers.ts";
import { runs } from "./cases/runs/runs.ts";
import { streaming } from "./cases/events/streaming.ts";
import { reconnecting } from "./cases/events/reconnecting.ts";
import { tools } from "./cases/requests/tools.ts";
import { turns } from "./cases/requests/turns.ts";
import { waits } from "./cases/requests/waits.ts";

/** All cases, in execution order. */
export const suite: readonly Theme[] = [
  { name: "discovery", cases: discovery },
  { name: "process", cases: starts },
  { name: "refusals", cases: refusals },
  { name: "idempotency", cases: idempotency },
  { name: "configuration", cases: configuration },
  { name: "turns", cases: turns },
  { name: "streaming", cases: streaming },
  { name: "reconnecting", cases: reconnecting },
  { name: "polling", cases: polling },
  { name: "filters", cases: filters },
  { name: "tools", cases: tools },
  { name: "waits", cases: waits },
  { name: "resume", cases: answers },
  { name: "cancel", cases: cancels },
  { name: "messages", cases: messages },
  { name: "races", cases: races },
  { name: "queue", cases: queue },
  { name: "runs", cases: runs },
  { name: "files", cases: files },
  { name: "keys", cases: keys },
  { name: "asks", cases: asks },
  { name: "machines", cases: machines },
  { name: "deadlines", cases: deadlines },
];
