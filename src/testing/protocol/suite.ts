import type { Theme } from "./case.ts";
import { cancel } from "./cases/cancel.ts";
import { configuration } from "./cases/configuration.ts";
import { discovery } from "./cases/discovery.ts";
import { files } from "./cases/files.ts";
import { filters } from "./cases/filters.ts";
import { idempotency } from "./cases/idempotency.ts";
import { polling } from "./cases/polling.ts";
import { process } from "./cases/process.ts";
import { queue } from "./cases/queue.ts";
import { races } from "./cases/races.ts";
import { refusals } from "./cases/refusals.ts";
import { resume } from "./cases/resume.ts";
import { runs } from "./cases/runs.ts";
import { streaming } from "./cases/streaming.ts";
import { reconnecting } from "./cases/reconnecting.ts";
import { tools } from "./cases/tools.ts";
import { turns } from "./cases/turns.ts";
import { waits } from "./cases/waits.ts";

/** All cases, in execution order. */
export const suite: readonly Theme[] = [
  { name: "discovery", cases: discovery },
  { name: "process", cases: process },
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
  { name: "resume", cases: resume },
  { name: "cancel", cases: cancel },
  { name: "races", cases: races },
  { name: "queue", cases: queue },
  { name: "runs", cases: runs },
  { name: "files", cases: files },
];
