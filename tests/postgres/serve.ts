// A PostgreSQL for a test or an eval that stops and starts it: prints its address, then obeys `stop` and `start`, a line
// each, and answers with the same word. It ends, with its data, at the end of its input.
// deno-lint-ignore-file no-console -- printing is what this file is for
import { withPostgres } from "./server.ts";

await withPostgres(async ({ url, start, stop }) => {
  console.log(url);
  let rest = "";
  for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      await (line === "stop" ? stop() : start());
      console.log(line);
    }
  }
});
