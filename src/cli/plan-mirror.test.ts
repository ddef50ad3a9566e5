import { chmod, mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { exportPlan } from './commands/formats/export.ts'
import { approve } from './commands/people/approve.ts'
import { run } from './commands/plans/run.ts'
import { withState } from './context.ts'
import { eachPlace } from './place.fixture.ts'
import { clearStale, writeMirror } from './plan-mirror.ts'

const place = eachPlace()

const PLAN = `planfold: 1
name: p
tasks:
  - { id: a, effect: pure, run: [echo, hi] }
  - { id: ask, needs: [a], gate: approval }
  - { id: b, needs: [ask], effect: pure, run: [echo, ho] }
`
interface Mirrored {
  readonly mirror: number
  readonly version: number
  readonly status: string
  readonly tasks: readonly { readonly name: string; readonly status: string }[]
  readonly document: { readonly planfold: number; readonly tasks: readonly unknown[] }
}
const mirrored = async (file = 'plans/p.json'): Promise<Mirrored> => JSON.parse(await place.read(file)) as Mirrored
const statuses = ({ tasks }: Mirrored): string => tasks.map(({ name, status }) => `${name} ${status}`).join(', ')

describe('the mirror of a plan', () => {
  it('is not there unless somebody asks for it', async () => {
    await place.write('plan.yaml', PLAN)
    expect((await place.say(context => run(context, 'plan.yaml', { start: true }))).exit).toBe(4)
    expect((await readdir(place.folder)).sort()).toEqual(['.planfold', 'plan.yaml'])
  })

  it('shows how the plan stands when the drive ends, and can be read as the document it is', async () => {
    await place.write('plan.yaml', PLAN)
    await place.say(context => run(context, 'plan.yaml', { start: true, mirror: true }))
    const shown = await mirrored()
    expect(shown).toMatchObject({ mirror: 1, status: 'blocked', document: { planfold: 1, name: 'p' } })
    expect(statuses(shown)).toBe('a completed, ask waiting, b pending')
    expect(await readdir(join(place.folder, 'plans'))).toEqual(['p.json'])
  })

  it('follows every command where the environment asks for it', async () => {
    const environment = { PLANFOLD_MIRROR: 'kept/here' }
    await place.write('plan.yaml', PLAN)
    await place.say(context => run(context, 'plan.yaml', { start: false }), { environment })
    expect(statuses(await mirrored('kept/here/p.json'))).toBe('a pending, ask pending, b pending')
    await place.say(context => run(context, 'p', { start: true }), { environment })
    await place.say(context => approve(context, 'p', 'ask', {}), { environment })
    expect(statuses(await mirrored('kept/here/p.json'))).toBe('a completed, ask completed, b ready')
  })

  it('stands outside the workspace only where the whole path is named', async () => {
    await place.write('plan.yaml', PLAN)
    await place.say(context => run(context, 'plan.yaml', { start: false }))
    await symlink('..', join(place.folder, 'linked'))
    for (const mirror of ['../out', 'linked/out'])
      expect(await place.say(context => exportPlan(context, 'p', { mirror }))).toMatchObject({
        exit: 'usage',
        stderr: expect.stringContaining('outside the workspace'),
      })
    const whole = join(place.folder, 'elsewhere')
    expect(await place.say(context => exportPlan(context, 'p', { mirror: whole }))).toMatchObject({ exit: 0 })
  })

  it('is written anew by export, byte for byte the same', async () => {
    await place.write('plan.yaml', PLAN)
    await place.say(context => run(context, 'plan.yaml', { start: true, mirror: true }))
    const before = await place.read('plans/p.json')
    await place.write('plans/p.json', '{"mirror": 1, "ver')
    const { exit, stdout } = await place.say(context => exportPlan(context, undefined, { mirror: true }))
    expect([exit, stdout.trim()]).toEqual([0, join(place.folder, 'plans/p.json')])
    expect(await place.read('plans/p.json')).toBe(before)
  })

  it('never goes back to an earlier moment of the same plan', async () => {
    await place.write('plan.yaml', PLAN)
    await place.say(context => run(context, 'plan.yaml', { start: true, mirror: true }))
    const later = (await place.read('plans/p.json')).replace(/"version": \d+/, '"version": 99999')
    await place.write('plans/p.json', later)
    await place.say(
      async context =>
        await withState(context, { create: false }, async ({ engine }) => {
          const plan = (await engine.ask({ type: 'find', reference: 'p' }))!.plan
          await writeMirror(engine, plan, join(place.folder, 'plans'))
          return 0
        }),
    )
    expect(await place.read('plans/p.json')).toBe(later)
  })

  it('that cannot be written stops nothing, and is told once', async () => {
    await place.write('plan.yaml', PLAN.replace('gate: approval', 'run: [echo, yes], effect: pure'))
    await place.write('plans', 'a file stands in the way')
    const { exit, stderr } = await place.say(context => run(context, 'plan.yaml', { start: true, mirror: true }))
    expect(exit).toBe(0)
    expect(stderr.match(/the mirror in .* could not be written/g)?.length).toBe(1)
  })

  it('leaves nothing behind of writers that were killed', async () => {
    const folder = join(place.folder, 'plans')
    await mkdir(folder)
    for (const name of ['.p.json.1.tmp', '.q.json.2.tmp', 'notes.tmp']) await writeFile(join(folder, name), '{')
    await utimes(join(folder, '.p.json.1.tmp'), 1, 1)
    await chmod(join(folder, '.p.json.1.tmp'), 0o600)
    await clearStale(folder, Date.now())
    expect((await readdir(folder)).sort()).toEqual(['.q.json.2.tmp', 'notes.tmp'])
  })
})
