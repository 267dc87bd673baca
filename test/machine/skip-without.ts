/** How the note of such a test begins. */
export const LACKS = "this machine lacks a part; the test ";

/**
 * Skips a test because this machine lacks a part that the test needs; the note names the part and how to get it.
 * With `CI=true` the test fails instead, so that a machine for checks cannot skip a test.
 */
export function skipWithout(skip: Skip, note: string): never {
  if (["true", "1"].includes(process.env["CI"] ?? "")) throw new Error(LACKS + note);
  return skip(LACKS + note);
}

/** Skips a test that needs a C compiler. */
export function skipWithoutCompiler(skip: Skip): never {
  return skipWithout(skip, "needs Linux and a C compiler: install gcc (apt-get install gcc libc6-dev)");
}

/** Skips a test that runs shell commands of the documentation. */
export function skipWithoutCurl(skip: Skip): never {
  return skipWithout(skip, "needs bash and curl 7.82 or newer: install them (apt-get install bash curl)");
}

/** Skips a test that needs the shells zsh and fish. */
export function skipWithoutShells(skip: Skip): never {
  return skipWithout(skip, "needs zsh and fish: install them (apt-get install zsh fish)");
}

/** Skips a test that needs a small disk of its own. */
export function skipWithoutSmallDisk(skip: Skip): never {
  return skipWithout(
    skip,
    "needs a small disk: run it on Linux, where `unshare --map-root-user --mount true` succeeds",
  );
}

/** Skips a test that talks to gRPC programs in Python. */
export function skipWithoutPythonGrpc(skip: Skip): never {
  return skipWithout(
    skip,
    "needs gRPC for Python: install it (apt-get install python3-grpcio python3-protobuf protobuf-compiler protobuf-compiler-grpc)",
  );
}

/** Skips a test that needs a PostgreSQL server. */
export function skipWithoutPostgres(skip: Skip): never {
  return skipWithout(
    skip,
    "needs PostgreSQL: install it (apt-get install postgresql), or set TROUPE_TEST_POSTGRES to the URL of a server",
  );
}

/** Skips a test that puts nodes behind a proxy. */
export function skipWithoutProxies(skip: Skip): never {
  return skipWithout(skip, "needs a proxy: install one (apt-get install nginx-light caddy haproxy)");
}

/** Skips a test that needs git. */
export function skipWithoutGit(skip: Skip): never {
  return skipWithout(skip, "needs git: install it (apt-get install git)");
}

/** Skips a test that renders templates with the engine of Go. */
export function skipWithoutGo(skip: Skip): never {
  return skipWithout(
    skip,
    "needs Go, Sprig and a YAML library: install them (apt-get install golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v2-dev)",
  );
}

/**
 * Skips a test that runs an earlier commit, because the history does not go back to it; also with `CI=true`: a copy of the newest commits is
 * whole in all else.
 */
export function skipWithoutHistory(skip: Skip): never {
  return skip(
    `${LACKS}needs a commit with a former schema: clone the repository, or get the rest of its history (git fetch --unshallow)`,
  );
}

/** Skips a test that runs Prometheus. */
export function skipWithoutPrometheus(skip: Skip): never {
  return skipWithout(skip, "needs Prometheus and its promtool: install them (apt-get install prometheus)");
}

/** Skips a test that needs a terminal. */
export function skipWithoutScript(skip: Skip): never {
  return skipWithout(skip, "needs Linux and the command script: install it (apt-get install bsdutils)");
}

/** Skips a test that reads how long a process has worked. */
export function skipWithoutProc(skip: Skip): never {
  return skipWithout(skip, "needs the files of processes in /proc: run it on Linux");
}

type Skip = (note: string) => never;
