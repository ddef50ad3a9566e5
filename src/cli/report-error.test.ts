import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Context } from './context.ts'
import { declined, usage } from './exit.ts'
import { complain } from './report-error.ts'
import { paint } from './terminal/paint.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-complain-'))
})
afterEach(() => rm(folder, { recursive: true }))

function setup(more: { opened?: string | null; json?: boolean; debug?: boolean; dir?: string } = {}) {
  const said = { stdout: '', stderr: '' }
  const context = {
    stdout: { write: (text: string) => (said.stdout += text) },
    stderr: { write: (text: string) => (said.stderr += text) },
    environment: more.debug === true ? { PLANFOLD_DEBUG: '1' } : {},
    now: () => 0,
    paint: paint(false),
    settings: {
      json: more.json === true,
      quiet: false,
      color: false,
      ...(more.dir === undefined ? {} : { dir: more.dir }),
    },
    opened: more.opened ?? null,
  }
  return { context: context as unknown as Context, said }
}

describe('a complaint', () => {
  it('gives a hint that can be pasted where --dir was told', async () => {
    const error = usage('no', 'go on with: planfold resume hello, or look at `planfold list`; ./planfold stays')
    const plain = setup({ dir: 'my state' })
    await complain(plain.context, error)
    expect(plain.said.stderr).toContain(
      "hint: go on with: planfold --dir 'my state' resume hello, or look at `planfold --dir 'my state' list`; ./planfold stays\n",
    )
    const json = setup({ dir: 'state', json: true })
    await complain(json.context, error)
    expect(JSON.parse(json.said.stdout).error.hint).toContain('planfold --dir state resume hello')
    const none = setup()
    await complain(none.context, error)
    expect(none.said.stderr).toContain('go on with: planfold resume hello')
  })

  it('is a message and a hint, escaped', async () => {
    const { context, said } = setup()
    expect(await complain(context, usage("no plan '\u001b[2J'", 'name one'))).toBe(2)
    expect(said).toEqual({ stdout: '', stderr: "error: no plan '\\u{1b}[2J'\nhint: name one\n" })
  })

  it('is none where a person said no: a plain sentence and success', async () => {
    const { context, said } = setup()
    expect(await complain(context, declined('nothing was changed'))).toBe(0)
    expect(said).toEqual({ stdout: '', stderr: 'nothing was changed\n' })
  })

  it('about a bug is one line, and the stack lies in a file', async () => {
    const { context, said } = setup({ opened: folder })
    expect(await complain(context, new TypeError('x is undefined'))).toBe(5)
    expect(said.stderr).toMatch(
      /^error: this is a bug in Planfold; as far as known, it changed nothing\nhint: details are in .*; please report it\n$/,
    )
    const [file] = await readdir(join(folder, 'bugs'))
    expect(await readFile(join(folder, 'bugs', file!), 'utf8')).toContain('TypeError: x is undefined\n    at ')
  })

  it('about a bug before any state was opened says how to see more', async () => {
    const { context, said } = setup()
    await complain(context, new TypeError('x'))
    expect(said.stderr).toContain('PLANFOLD_DEBUG=1')
    const debugged = setup({ debug: true })
    await complain(debugged.context, new TypeError('x'))
    expect(debugged.said.stderr).toContain('TypeError: x\n    at ')
  })

  it('to a script is an envelope on standard output', async () => {
    const { context, said } = setup({ json: true })
    await complain(context, usage('what?'))
    expect(said).toEqual({
      stdout: '{"planfold":1,"error":{"code":"usage","message":"what?","hint":null}}\n',
      stderr: '',
    })
  })
})
