import { anyOf, sharedToken, trustedHeader } from "troupe/auth";
import type { TrustedHeaderOptions } from "troupe/auth";
import { expect, test } from "vitest";
import { startServer } from "./server.ts";

const OPTIONS: TrustedHeaderOptions = {
  user: "x-forwarded-user",
  name: "x-forwarded-preferred-username",
  groups: "x-forwarded-groups",
  roles: { finance: "finance", platform: "admin" },
  owner: "x-tenant",
  from: ["10.1.0.0/16", "192.168.7.9", "fd00::/8"],
};

const ANN = {
  "x-forwarded-user": "ann@acme.example",
  "x-forwarded-preferred-username": "Ann",
  "x-forwarded-groups": "staff, finance",
  "x-tenant": "acme",
};

const principalOf = async (
  headers: Headers | Readonly<Record<string, string>>,
  address: string,
  options: Partial<TrustedHeaderOptions> = {},
) => trustedHeader({ ...OPTIONS, ...options })(new Request("http://localhost/", { headers }), { address });

test("the headers of a proxy say who makes a request", async () => {
  expect(await principalOf(ANN, "10.1.2.3")).toEqual({
    id: "ann@acme.example",
    owner: "acme",
    roles: ["user", "finance"],
    name: "Ann",
  });
});

test.each(["192.168.7.9", "::ffff:10.1.255.255", "fd12::1"])("%s is a proxy's address", async (address) => {
  expect(await principalOf(ANN, address)).toMatchObject({ owner: "acme" });
});

test.each([
  "10.2.0.1",
  "192.168.7.10",
  "::ffff:10.2.0.1",
  "fe80::1",
  "127.0.0.1",
  "",
  "10.1.2.3.evil",
  "::1",
])("the headers of %s are ignored", async (address) => {
  expect(await principalOf(ANN, address)).toBeUndefined();
});

test("a proxy that names nobody, two users or no owner is nobody", async () => {
  expect(await principalOf({}, "10.1.2.3")).toBeUndefined();
  const two = new Headers(ANN);
  two.append("x-forwarded-user", "root");
  expect(await principalOf(two, "10.1.2.3")).toBeUndefined();
  expect(await principalOf({ "x-forwarded-user": "ann" }, "10.1.2.3")).toBeUndefined();
  expect(await principalOf({ ...ANN, "x-tenant": "two words" }, "10.1.2.3")).toBeUndefined();
  // A group is not a role by its name.
  const groups = { ...ANN, "x-forwarded-groups": "admin,constructor,__proto__" };
  expect(await principalOf(groups, "10.1.2.3")).toMatchObject({ roles: ["user"] });
});

test.each([
  [{ from: [] }, /needs the addresses/],
  [{ from: ["proxy.example"] }, /not the address of a proxy/],
  [{ from: ["10.0.0.0/33"] }, /not the address of a proxy/],
  [{ from: ["10.0.0.0/8/8"] }, /not the address of a proxy/],
  [{ user: "x user" }, /not the name of a header/],
])("the options %o are refused", (options, message) => {
  expect(() => trustedHeader({ ...OPTIONS, ...options })).toThrow(message);
});

test("a server behind a proxy believes the proxy's connection, not an address that a client writes", async () => {
  const options = { ...OPTIONS, from: ["127.0.0.1"] };
  await using behind = await startServer(trustedHeader(options));
  expect((await behind.ask("/runs", { headers: ANN })).status).toBe(200);
  await using other = await startServer(
    anyOf(sharedToken("a-shared-token-of-16"), trustedHeader({ ...options, from: ["10.1.0.0/16"] })),
    { trustProxy: true },
  );
  const forged = { ...ANN, "x-forwarded-for": "10.1.2.3" };
  expect((await other.ask("/runs", { headers: forged })).status).toBe(401);
});

test.each([
  ["cn=finance,ou=staff", ["approver"]],
  ["staff, cn=finance,ou=staff,platform", ["approver", "admin"]],
  ["cn=finance", []],
  ["cn=platform,ou=staff", []],
  ["ou=staff,cn=finance", []],
  ["", []],
])(
  "the groups %j give the roles of the names that have commas, and of their parts none",
  async (groups, more) => {
    const roles = { "cn=finance,ou=staff": "approver", platform: "admin" };
    const principal = await principalOf({ ...ANN, "x-forwarded-groups": groups }, "10.1.2.3", { roles });
    expect(principal?.roles).toEqual(["user", ...more]);
  },
);
