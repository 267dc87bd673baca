export { AgentError } from "./errors.ts";
