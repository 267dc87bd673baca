export { readConsole } from "./console.ts";
export { nodeEnvironment } from "./environment.ts";
export type { Listener, ListenerAddress, Listening } from "./listener.ts";
export { serve } from "./serve.ts";
export type { ServeOptions, Server } from "./serve.ts";
export { drainOnSignals } from "./signals.ts";
export type { DrainOptions } from "./signals.ts";
export { superviseProcess } from "./supervise.ts";
export type { SuperviseOptions } from "./supervise.ts";
