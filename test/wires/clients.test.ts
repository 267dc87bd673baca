import { startServer } from "../flows/server.ts";
import { testClients } from "./clients.ts";

testClients(startServer);
