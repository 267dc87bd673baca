import { defineAgent } from "troupe";
import { remoteAgent } from "troupe/client";

const address = process.env["TROUPE_REMOTE"];

/** Forwards requests to the agent at the address in TROUPE_REMOTE. */
export const relay = address
  ? remoteAgent(address, { name: "relay", purpose: "Forwards requests to an agent on another server." })
  : defineAgent({
      name: "relay",
      purpose: "Forwards requests to an agent on another server; set TROUPE_REMOTE to its address.",

      chat() {
        throw new Error("relay has no address: set TROUPE_REMOTE to one, for example http://host:4100/echo");
      },
    });
