// Loaded into each thread of a server that is measured: what memory is left then is what is held, not what no collection has met yet.
// Between two full collections a server of this load piles up a hundred megabytes in some minutes, which looks like a leak.
setInterval(() => globalThis.gc?.(), 10_000).unref();
