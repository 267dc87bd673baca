export { a2a } from "./a2a.ts";
