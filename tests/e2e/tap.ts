// Stands between a client and `agentcards serve` and writes down every byte that passes: tap.ts FILE PROGRAM ARGS...
const [file, program, ...args] = Deno.args;
const record = await Deno.open(file!, { write: true, create: true, append: true });
const child = new Deno.Command(program!, { args, stdin: "piped", stdout: "piped", stderr: "inherit" }).spawn();
for (const signal of ["SIGINT", "SIGTERM"] as const) Deno.addSignalListener(signal, () => child.kill(signal));

async function copy(from: ReadableStream<Uint8Array>, to: WritableStream<Uint8Array>, mark: string): Promise<void> {
  const writer = to.getWriter();
  let rest = "";
  for await (const chunk of from) {
    const lines = (rest + new TextDecoder().decode(chunk)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) record.writeSync(new TextEncoder().encode(`${mark}${line}\n`));
    await writer.write(chunk);
  }
  await writer.close();
}

void copy(Deno.stdin.readable, child.stdin, "> ").catch(() => {});
void copy(child.stdout, Deno.stdout.writable, "< ").catch(() => {});
Deno.exit((await child.status).code);
