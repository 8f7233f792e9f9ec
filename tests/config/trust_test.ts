import assert from "node:assert/strict";
import { type Home, locateHome } from "../../src/config/home.ts";
import { findProject, trustProject } from "../../src/config/trust.ts";

interface Place extends AsyncDisposable {
  readonly home: Home;
  readonly project: string;
  readonly file: string;
}

async function makePlace(text = "servers: {}\n"): Promise<Place> {
  const dir = await Deno.realPath(await Deno.makeTempDir());
  const home = locateHome({ HOME: dir });
  await Deno.mkdir(home.dir);
  await Deno.mkdir(`${dir}/project/.agentcards`, { recursive: true });
  await Deno.mkdir(`${dir}/project/deep/er`, { recursive: true });
  const file = `${dir}/project/.agentcards/config.yaml`;
  await Deno.writeTextFile(file, text);
  return {
    home,
    project: `${dir}/project`,
    file,
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

Deno.test("a project's file is found upwards, and the nearest one counts", async () => {
  await using place = await makePlace();
  assert.equal((await findProject(`${place.project}/deep/er`, place.home))?.path, place.file);
  await Deno.mkdir(`${place.project}/deep/.agentcards`);
  await Deno.writeTextFile(`${place.project}/deep/.agentcards/config.yaml`, "");
  assert.equal(
    (await findProject(`${place.project}/deep/er`, place.home))?.path,
    `${place.project}/deep/.agentcards/config.yaml`,
  );
});

Deno.test("the home's own file is no project's, through a link neither", async () => {
  await using place = await makePlace();
  await Deno.remove(`${place.project}/.agentcards`, { recursive: true });
  await Deno.writeTextFile(place.home.config, "servers: {}\n");
  assert.equal(await findProject(place.project, place.home), undefined);
  await Deno.symlink(place.home.dir, `${place.project}/.agentcards`);
  assert.equal(await findProject(place.project, place.home), undefined);
});

Deno.test("a file is trusted after it was pinned, until one byte changes, and again when it is back", async () => {
  await using place = await makePlace("servers: {}\n");
  const before = (await findProject(place.project, place.home))!;
  assert.equal(before.trusted, false);
  await trustProject(before, place.home);
  assert.equal((await findProject(place.project, place.home))!.trusted, true);
  assert.equal((await Deno.stat(place.home.trust)).mode! & 0o777, 0o600);
  await Deno.writeTextFile(place.file, "servers: {} \n");
  assert.equal((await findProject(place.project, place.home))!.trusted, false);
  await Deno.writeTextFile(place.file, "servers: {}\n");
  assert.equal((await findProject(place.project, place.home))!.trusted, true);
});

Deno.test("a file that changed while it was read is not pinned", async () => {
  await using place = await makePlace();
  const shown = (await findProject(place.project, place.home))!;
  await Deno.writeTextFile(place.file, "servers: { evil: { command: rm } }\n");
  await assert.rejects(trustProject(shown, place.home), { code: "CONFIG_UNTRUSTED" });
  assert.equal((await findProject(place.project, place.home))!.trusted, false);
});

Deno.test("the same text in another folder is not trusted with it", async () => {
  await using place = await makePlace();
  await trustProject((await findProject(place.project, place.home))!, place.home);
  await Deno.rename(place.project, `${place.project}-moved`);
  assert.equal((await findProject(`${place.project}-moved`, place.home))!.trusted, false);
});

Deno.test("a damaged list of pins trusts nothing, and trusting again mends it", async () => {
  await using place = await makePlace();
  const project = (await findProject(place.project, place.home))!;
  await trustProject(project, place.home);
  for (const damage of ["", "{", "[]", "null", JSON.stringify({ [place.file]: true })]) {
    await Deno.writeTextFile(place.home.trust, damage);
    assert.equal((await findProject(place.project, place.home))!.trusted, false, damage);
  }
  await trustProject(project, place.home);
  assert.equal((await findProject(place.project, place.home))!.trusted, true);
});

Deno.test("a device, a folder or a giant in the place of a project's file is not read", async () => {
  await using place = await makePlace("#".repeat(1024 * 1024 + 1));
  assert.equal(await findProject(place.project, place.home), undefined);
  await Deno.remove(place.file);
  await Deno.symlink("/dev/zero", place.file);
  assert.equal(await findProject(place.project, place.home), undefined);
  await Deno.remove(place.file);
  await Deno.mkdir(place.file);
  assert.equal(await findProject(place.project, place.home), undefined);
});
