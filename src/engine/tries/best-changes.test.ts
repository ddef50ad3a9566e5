// What the changes of the best try do to a workspace in which people work, and what stays of them when the attempt fails.

import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Event } from '../../domain/event.ts'
import type { PlanName } from '../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import type { Restored } from '../../workspace/workspace.ts'
import { realRooms, sh } from '../rollback/perform-rollback.fixture.ts'

let place: Awaited<ReturnType<typeof realRooms>>
beforeEach(async () => {
  place = await realRooms()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await place.close()
  fs.rmSync(place.base, { recursive: true, force: true })
})

const at = (path: string): string => join(place.root, path)
const put = (path: string, text: string): void => {
  fs.mkdirSync(join(at(path), '..'), { recursive: true })
  fs.writeFileSync(at(path), text)
}
const read = (path: string): string => fs.readFileSync(at(path), 'utf8')
const all = (folder: string): readonly string[] =>
  fs.readdirSync(at(folder), { recursive: true }).map(String).toSorted()
const events = async <T extends Event['type']>(type: T) =>
  ((await place.engine.ask({ type: 'entries', plan: 'plan', limit: 500 })) ?? []).flatMap(({ events }) =>
    events.filter((event): event is Extract<Event, { type: T }> => event.type === type),
  )
const failures = async () => (await events('attempt.failed')).map(({ result }) => result.failure.message)
const run = async (script: string, more: Partial<TaskDefinition> = {}, rest: Partial<PlanDefinition> = {}) => {
  const task = sh('fix', script, { write: ['src/**'], network: [], effect: 'workspace', tries: { with: 2 }, ...more })
  await place.run([task], rest)
  return (await place.statuses()).fix
}
/** An edit of the person while the tries run. */
const meanwhile = (path: string, text: string): string =>
  `mkdir -p "$(dirname '${at(path)}')"; printf '${text}' > '${at(path)}'`
/** Only the workspace has the state folder. */
const FAILS_HERE = { accept: [{ type: 'check' as const, command: { script: '! test -e .planfold' } }] }
const LINES = 'one\ntwo\nthree\nfour\nfive\n'

/** Comes before the write number so and so. */
function beforeWrite(number: number, act: (write: () => Promise<Restored>) => Promise<Restored>): void {
  const { workspace } = place.rooms
  const restore = workspace.restore.bind(workspace)
  let writes = 0
  vi.spyOn(workspace, 'restore').mockImplementation((...given) =>
    ++writes === number ? act(() => restore(...given)) : restore(...given),
  )
}
const refused = { ok: false, failure: { class: 'logic', message: 'the disk is broken', retryable: false } } as const

describe('an edit just before', () => {
  test('the changes are written is merged', async () => {
    put('src/a.txt', LINES)
    beforeWrite(1, write => {
      put('src/a.txt', LINES.replace('one', 'ONE'))
      return write()
    })
    expect(await run('sed -i s/five/FIVE/ src/a.txt')).toBe('completed')
    expect(read('src/a.txt')).toBe('ONE\ntwo\nthree\nfour\nFIVE\n')
  })

  test('they are taken back stays', async () => {
    put('src/a.txt', LINES)
    beforeWrite(2, write => {
      put('src/a.txt', 'ONE\ntwo\nthree\nfour\nFIVE\n')
      return write()
    })
    expect(await run('sed -i s/five/FIVE/ src/a.txt', FAILS_HERE)).toBe('failed')
    expect(read('src/a.txt')).toBe('ONE\ntwo\nthree\nfour\nfive\n')
  })
})

describe('of a failed attempt', () => {
  test('nothing stays in a file that was merged with an edit', async () => {
    put('src/a.txt', LINES)
    const edit = meanwhile('src/a.txt', 'ONE\\ntwo\\nthree\\nfour\\nfive\\n')
    expect(await run(`${edit}; sed -i s/five/FIVE/ src/a.txt`, FAILS_HERE)).toBe('failed')
    expect(read('src/a.txt')).toBe('ONE\ntwo\nthree\nfour\nfive\n')
  })

  test('what could not be taken back is told', async () => {
    put('src/kept.txt', '')
    beforeWrite(2, async () => refused)
    expect(await run('echo a > src/a.txt', FAILS_HERE)).toBe('failed')
    expect(await failures()).toEqual([expect.stringContaining('could not be taken back: the disk is broken')])
  })

  test('whose changes were written half way, nothing stays', async () => {
    put('src/a.txt', 'a\n')
    beforeWrite(1, async write => {
      await write()
      return refused
    })
    expect(await run('echo b > src/a.txt; mkdir src/new; echo c > src/new/c.txt')).toBe('failed')
    expect(all('src')).toEqual(['a.txt'])
    expect(read('src/a.txt')).toBe('a\n')
  })
})

test('changes that `effects` does not name are taken back', async () => {
  put('src/a.txt', 'a\n')
  put('mine/kept.txt', '')
  expect(await run('echo b > src/a.txt; echo c > src/c.txt', { effects: ['src/a.txt'] })).toBe('failed')
  expect(await failures()).toEqual([expect.stringContaining('src/c.txt')])
  expect((await events('attempt.failed'))[0]?.result.wrote).toMatchObject({ paths: 0 })
  expect([all('src'), read('src/a.txt')]).toEqual([['a.txt'], 'a\n'])
})

test('an empty folder that a try made outside its scope does not reach the workspace', async () => {
  put('mine/kept.txt', '')
  expect(await run('mkdir -p src/new mine/empty other/empty; echo a > src/a.txt')).toBe('completed')
  expect([all('src'), all('mine'), fs.existsSync(at('other'))]).toEqual([['a.txt', 'new'], ['kept.txt'], false])
})

test('whatever a file is called, it is written and taken back, and what it could be taken for stays', async () => {
  const names = ['{a}', '~b', '!c', 'd\\e', 'f**g', 'h*', 'i?', '**', 'k:l']
  put('src/hand', 'mine\n')
  const write = names.map(name => `echo new > 'src/${name}'`).join('; ')
  expect(await run(`${write}; ${meanwhile('src/hot', 'mine\\n')}`)).toBe('completed')
  expect(all('src')).toEqual([...names, 'hand', 'hot'].toSorted())
  expect(read('src/hand')).toBe('mine\n')
})

describe('a folder of the person', () => {
  test.each([
    ['yes', 'of the try\n'],
    ['no', null],
  ])('where the try made a file is asked about: %s', async (allow, expected) => {
    put('src/kept.txt', '')
    expect(await run(`${meanwhile('src/a/mine.txt', 'mine\\n')}; echo of the try > src/a`)).toBe('ready')
    const [question] = await events('question.asked')
    await place.submit({ type: 'answer', id: question!.id, answers: { allow } })
    await place.drive()
    expect(await failures()).toEqual([])
    if (expected === null) expect(read('src/a/mine.txt')).toBe('mine\n')
    else expect(read('src/a')).toBe(expected)
  })

  test('that the try removed stays with what the person put there', async () => {
    put('src/a/old.txt', 'old\n')
    expect(await run(`rm -r src/a; ${meanwhile('src/a/mine.txt', 'mine\\n')}`)).toBe('completed')
    expect(all('src')).toEqual(['a', 'a/mine.txt'])
  })
})

test('edits that are replaced after an interruption are backed up and told as well', async () => {
  put('src/a.txt', 'a\n')
  put('src/b.txt', 'b\n')
  const stop = new AbortController()
  beforeWrite(1, async write => {
    const done = await write()
    stop.abort()
    return done
  })
  // Stops in the check of the workspace, when the changes are written.
  const accept = [{ type: 'check' as const, command: { script: 'test ! -e .planfold || test -e go || sleep 20' } }]
  const task = sh('fix', 'echo c > src/a.txt; echo c > src/b.txt', {
    ...{ write: ['src/**'], network: [], effect: 'workspace', tries: { with: 2 }, accept },
  })
  await place.submit({ type: 'create', definition: { name: 'plan' as PlanName, tasks: [task] } }, null)
  await place.submit({ type: 'start' })
  const found = await place.engine.ask({ type: 'find', reference: 'plan' })
  await place.worker.drive(found!.plan, { stop: stop.signal })
  expect(read('src/a.txt')).toBe('c\n')
  put('src/a.txt', 'mine\n')
  put('go', '')
  await place.drive()
  const [question] = await events('question.asked')
  await place.submit({ type: 'answer', id: question!.id, answers: { allow: 'yes' } })
  await place.drive()
  expect((await place.statuses()).fix).toBe('completed')
  expect(read('src/a.txt')).toBe('c\n')
  const [first, second, ...others] = await events('race.applied')
  expect([first?.overwrote, second?.overwrote, others]).toEqual([undefined, ['src/a.txt'], []])
  const saved = await place.rooms.workspace.changesSince(second!.saved)
  const mine = saved.ok ? saved.changes.find(({ path }) => path === 'src/a.txt')?.before : null
  expect(mine).toMatchObject({ type: 'file', size: 'mine\n'.length })
})
