import { serveTurns } from "../turn-server.ts";

await serveTurns();
