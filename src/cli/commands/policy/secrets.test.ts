import { execFileSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { newPlace } from '../../place.fixture.ts'
import { analyze } from '../plans/analyze.ts'
import { log } from '../plans/log.ts'
import { run } from '../plans/run.ts'
import { listAll, remove, set } from './secrets.ts'

const VALUE = `npm_Zx81"qL'&k+9/vT==mQ7$wE2`
let place: Awaited<ReturnType<typeof newPlace>>
let config: string
beforeEach(async () => {
  place = await newPlace()
  config = await mkdtemp(join(tmpdir(), 'planfold-config-'))
})
afterEach(async () => {
  await place.remove()
  await rm(config, { recursive: true, force: true })
})

const environment = () => ({ XDG_CONFIG_HOME: config, MY_TOKEN: VALUE, PATH: process.env.PATH ?? '' })
const options = () => ({ json: true, environment: environment() })
const named = () => place.say(context => set(context, 'TOKEN', { env: 'MY_TOKEN' }), options())

/** Everything below a folder, files of the store with what SQLite has in them. */
async function everything(folder: string): Promise<string> {
  const names = await readdir(folder, { recursive: true })
  const texts = await Promise.all(
    names.map(async name => {
      const path = join(folder, name)
      const seen = await lstat(path)
      if (seen.isSymbolicLink()) return `${name} -> ${await readlink(path)}`
      return seen.isFile() ? `${name}\n${await readFile(path, 'latin1')}` : name
    }),
  )
  return texts.join('\n')
}

const FORMS = [
  VALUE,
  JSON.stringify(VALUE).slice(1, -1),
  encodeURIComponent(VALUE),
  Buffer.from(VALUE).toString('base64').slice(0, -4),
  Buffer.from(VALUE).toString('hex'),
  VALUE.slice(0, 12),
  VALUE.slice(-12),
]

describe('a secret', () => {
  it('cannot have the name of an ordinary variable, nor of one that changes which code runs', async () => {
    for (const name of ['PATH', 'HOME', 'LD_PRELOAD', 'lc_all', 'NODE_OPTIONS', 'PLANFOLD_KEY']) {
      const said = await place.say(context => set(context, name, { env: 'MY_TOKEN' }), options())
      expect(said.stderr).toContain(`a secret cannot be called '${name}'`)
    }
    expect(JSON.parse((await place.say(listAll, options())).stdout)).toMatchObject({ data: { secrets: [] } })
  })

  it('is given to the task that names it and to no other, and is in nothing that is kept', async () => {
    await named()
    const print = `node -e 'const t = process.env.TOKEN, b = Buffer.from(t)
      for (const one of [t, JSON.stringify(t), encodeURIComponent(t), b.toString("base64"), b.toString("hex"), t.slice(0, 12)])
        console.log(one), console.error(one)
      for (const one of t) process.stdout.write(one)
      process.exitCode = process.env.FAIL ? 1 : 0'; env`
    await place.write(
      'p.yaml',
      `planfold: 1
name: p
tasks:
  - { id: uses, effect: unsafe, write: [], secrets: [TOKEN], run: ${JSON.stringify(print)}, outputs: { said: stdout } }
  - { id: fails, needs: [uses], optional: true, effect: unsafe, write: [], secrets: [TOKEN], env: { FAIL: '1' }, run: ${JSON.stringify(`${print}; exit 7`)} }
  - { id: other, needs: [uses], effect: pure, run: 'test -z "\${TOKEN:-}" && test -z "\${MY_TOKEN:-}"' }
`,
    )
    const said = await place.say(context => run(context, 'p.yaml', { start: true }), options())
    expect(said.stdout).toContain('"completed"')
    const shown = await place.say(context => log(context, 'p', undefined, { output: true }), {
      environment: environment(),
    })
    expect(shown.stdout).toContain('TOKEN=[redacted]')
    const kept = `${await everything(place.folder)}${said.stdout}${said.stderr}${shown.stdout}`
    expect(FORMS.filter(form => kept.includes(form))).toEqual([])
    expect(kept).toContain('TOKEN')
  })

  it('that is written into a file is taken out of it before anything is kept, and the attempt fails', async () => {
    await named()
    await mkdir(join(place.folder, 'src'))
    await writeFile(join(place.folder, 'src/mine'), VALUE)
    const before = (await stat(join(place.folder, 'src/mine'))).ctimeMs
    await new Promise<void>(resolve => setTimeout(resolve, Math.max(0, before + 2_500 - Date.now())))
    await place.write(
      'p.yaml',
      `planfold: 1
name: p
tasks:
  - { id: leaks, effect: workspace, write: [src/**], secrets: [TOKEN], run: 'echo "key = $TOKEN" > src/config; echo fine > src/fine' }
`,
    )
    const said = await place.say(context => run(context, 'p.yaml', { start: true }), options())
    expect(said.stdout).toContain("it left a secret in 'src/config'")
    expect(await place.read('src/config')).toBe('key = [redacted]\n')
    expect(await place.read('src/fine')).toBe('fine\n')
    // What stood there before is a person's own.
    expect(await place.read('src/mine')).toBe(VALUE)
  })

  it('in the name of a file, of a folder or in the target of a link is replaced before anything is kept, and the attempt fails', async () => {
    await named()
    await mkdir(join(place.folder, 'src', Buffer.from(VALUE).toString('hex'), 'mine'), { recursive: true })
    const leak = `cd src; mkdir -p "a/$TOKEN/b"; touch "a/$TOKEN/b/c"; hex=$(printf %s "$TOKEN" | od -An -tx1 | tr -d ' \\n')
      echo hi > "$hex.txt"; echo ho > "x$hex.txt"; ln -s "to/$TOKEN" link; touch "../$hex.out"`
    await place.write(
      'p.yaml',
      `planfold: 1
name: p
tasks:
  - { id: leaks, effect: workspace, write: [src/**], secrets: [TOKEN], run: ${JSON.stringify(leak)} }
`,
    )
    const said = await place.say(context => run(context, 'p.yaml', { start: true }), options())
    expect(said.stdout).toContain('it left a secret in ')
    expect(said.stdout).toContain("the target of the link 'src/link'")
    expect(await readlink(join(place.folder, 'src/link'))).toBe('to/[redacted]')
    expect(await place.read('src/[redacted].txt')).toBe('hi\n')
    expect(await place.read('src/x[redacted].txt')).toBe('ho\n')
    // What was called so before is a person's own.
    await rm(join(place.folder, 'src', Buffer.from(VALUE).toString('hex')), { recursive: true })
    const kept = `${await everything(place.folder)}${said.stdout}${said.stderr}`
    // As in the content of a file, the value is found in all its forms, and not a part of it.
    expect(FORMS.slice(0, -2).filter(form => kept.includes(form))).toEqual([])
  })

  it('that cannot be taken out of a file is told as what it is', async () => {
    await named()
    await place.write(
      'p.yaml',
      `planfold: 1
name: p
tasks:
  - { id: leaks, effect: unsafe, write: [.npmrc], secrets: [TOKEN], run: 'echo "$TOKEN" > .npmrc' }
`,
    )
    const { stdout } = await place.say(context => run(context, 'p.yaml', { start: true }), options())
    expect(stdout).toContain("it left a secret in '.npmrc', where it could not be replaced")
    expect(stdout).toContain('give out a new secret')
  })

  it('in a file that nobody declared is told, and the file is left as it is: it may be somebody else’s', async () => {
    await named()
    await place.write(
      'p.yaml',
      `planfold: 1
name: p
tasks:
  - { id: slow, effect: unsafe, secrets: [TOKEN], run: 'echo "TOKEN=$TOKEN" > notes.md' }
`,
    )
    const { stdout } = await place.say(context => run(context, 'p.yaml', { start: true }), options())
    expect(stdout).toContain(
      "'notes.md' changed while it ran and contains a secret it was given; nothing was replaced there",
    )
    expect(await place.read('notes.md')).toBe(`TOKEN=${VALUE}\n`)
  })

  it('comes from a file that only you may read, or from a command, never from the workspace', async () => {
    const key = join(config, 'key')
    await writeFile(key, `${VALUE}\n`, { mode: 0o600 })
    const sets = (source: Parameters<typeof set>[2]) =>
      place
        .say(context => set(context, 'TOKEN', source), options())
        .then(({ stdout }) => JSON.parse(stdout).data?.fault)
    expect(await sets({ file: key })).toBeNull()
    expect(await sets({ command: ['printf', '%s', VALUE] })).toBeNull()
    expect(await sets({ command: ['false'] })).toContain('gave no value (exit 1)')
    expect(await sets({ env: 'NOT_SET' })).toContain('NOT_SET, which is not set')
    execFileSync('chmod', ['644', key])
    expect(await sets({ file: key })).toContain('may be read or changed by others')
    const words = await place.say(context => set(context, 'TOKEN', { file: key }), { environment: environment() })
    expect(words).toEqual({
      exit: 0,
      stdout: `TOKEN comes from the file ${key}\n`,
      stderr: `warning: it cannot be read now: the file of the secret 'TOKEN' '${key}' may be read or changed by others (mode 644)\nhint: keep it to yourself: chmod 600 ${key}\n`,
    })
    await place.write('inside', VALUE)
    expect(await sets({ file: 'inside' })).toContain('is in the workspace')
  })

  it('is listed by where it comes from, and forgotten', async () => {
    await named()
    const list = () => place.say(listAll, { environment: environment() })
    expect((await list()).stdout).toMatch(/TOKEN +the environment variable MY_TOKEN/)
    expect(await everything(config)).not.toContain(VALUE)
    await place.say(context => remove(context, 'TOKEN'), options())
    expect((await list()).stdout).toContain('no secrets are named')
    expect(await place.say(context => remove(context, 'TOKEN'), options())).toMatchObject({ exit: 'not-found' })
  })

  it('without a source stops the task and says what to do', async () => {
    await place.write(
      'p.yaml',
      'planfold: 1\nname: p\ntasks: [{ id: a, effect: pure, secrets: [TOKEN], run: [env] }]\n',
    )
    const plain = { environment: environment() }
    const analysis = await place.say(context => analyze(context, 'p.yaml', {}), plain)
    expect(analysis.stdout).toContain(
      "policies, secrets, runners and databases on this machine:\nwarning: the secret 'TOKEN' is not configured: 'a' will fail (line 3)",
    )
    const told = await place.say(context => run(context, 'p.yaml', { start: false }), plain)
    expect(told.stderr).toContain("the secret 'TOKEN' is not configured: 'a' will fail")
    const { stdout } = await place.say(context => run(context, 'p.yaml', { start: true }), options())
    expect(stdout).toContain("the secret 'TOKEN' is not configured")
    expect(stdout).toContain('planfold secrets set TOKEN')
  })

  it.each([
    ['{ id: a, secrets: [TOKEN] }', 'only a command (run) or a request (http) gets them'],
    ['{ id: a, secrets: [PATH], run: [env] }', 'changes which code other programs run'],
    ['{ id: a, secrets: [TOKEN], env: { TOKEN: x }, run: [env] }', 'which it sets in env as well'],
  ])('is refused where it cannot be given: %s', async (task, why) => {
    await place.write('p.yaml', `planfold: 1\nname: p\ntasks: [${task}]\n`)
    const said = await place.say(context => run(context, 'p.yaml', { start: true }), options())
    expect(`${said.stdout}${said.stderr}${JSON.stringify(said)}`).toContain(why)
  })

  it('is not named by a task', async () => {
    const task = { json: true, environment: { ...environment(), PLANFOLD_KEY: 'p/t/1' } }
    expect(await place.say(context => set(context, 'TOKEN', { env: 'MY_TOKEN' }), task)).toMatchObject({
      exit: 'policy',
    })
  })
})
