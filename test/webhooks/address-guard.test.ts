import { promisify } from "node:util";
import { expect, test } from "vitest";
import { isPublicAddress, lookupPublic } from "../../src/webhooks/address-guard.ts";

test.each([
  "0.0.0.0",
  "10.1.2.3",
  "100.64.0.1",
  "127.0.0.1",
  "127.255.255.254",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "198.19.0.1",
  "224.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::ffff:10.0.0.1",
  "::ffff:7f00:1",
  "::127.0.0.1",
  "64:ff9b::a00:1",
  "2002:a00:1::",
  "fc00::1",
  "fd12:3456::1",
  "fe80::1",
  "ff02::1",
  "fe80::1%lo",
  "fec0::1",
  "::ffff:0:10.0.0.1",
  "64:ff9b:1::a00:1",
  "2001:0:a00:1::",
  "4000::1",
  "5f00::1",
  "2001:db8::1",
  "not an address",
  "",
])("%s is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  "1.1.1.1",
  "172.15.0.1",
  "172.32.0.1",
  "192.167.0.1",
  "::ffff:8.8.8.8",
  "2001:4860:4860::8888",
  "2606:4700:4700::1111",
  "223.255.255.1",
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test("a name of this machine is refused when it is looked up for a connection", async () => {
  const look = promisify(lookupPublic) as (name: string, options: object) => Promise<unknown>;
  await expect(look("localhost", {})).rejects.toThrow("localhost has an address that is not public");
  await expect(look("localhost", { all: true })).rejects.toThrow("not public");
});
