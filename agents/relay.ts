import { defineAgent } from "troupe";
import { remoteAgent } from "troupe/client";

const address = process.env["TROUPE_REMOTE"];

/** Stands here for an agent of another server, whose address is in TROUPE_REMOTE. */
export const relay = address
  ? remoteAgent(address, { name: "relay", purpose: "Passes everything on to an agent of another server." })
  : defineAgent({
      name: "relay",
      purpose: "Would pass everything on to an agent of another server; set TROUPE_REMOTE to its address.",

      chat() {
        throw new Error(
          "relay knows no other agent: set TROUPE_REMOTE to an address, as in http://host:4100/echo",
        );
      },
    });
