export { tasks } from "./tasks.ts";
export type { TasksOptions } from "./routes/service.ts";
