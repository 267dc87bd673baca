import { serveTurns } from "../servers/turn-server.ts";

await serveTurns();
