// Loaded by a server before everything else: its actors are renewed early, and have room for many clients.
import { defaultLimits } from "../../src/runtime/limits.ts";

Object.assign(defaultLimits, { keyedRunEvents: 600, runEvents: 900, queuedRequests: 64 });
