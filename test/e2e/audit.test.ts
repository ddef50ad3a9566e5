// Answering for a plan with the built command: its trail, seals that outlast whoever can write the store, what is handed on, what
// has happened meanwhile, and what waits for a person.

import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AuditLine } from '../../src/domain/views/audit.ts'
import type { Digest } from '../../src/domain/views/digest.ts'
import type { InboxEntry } from '../../src/engine/engine.ts'
import { entryHash, type StoredEntry } from '../../src/stores/journal/entry.ts'
import { place } from './in-process.fixture.ts'
import type { Place } from './planfold.fixture.ts'

let here: Place
/** Where the store's writer has no hands. */
let elsewhere: string
beforeEach(async () => {
  here = await place()
  elsewhere = mkdtempSync(join(tmpdir(), 'planfold-elsewhere-'))
})
afterEach(async () => {
  rmSync(elsewhere, { recursive: true, force: true })
  await here.remove()
})

const RELEASE = `planfold: 1
name: release
goal: The new version is out
tasks:
  - { id: build, run: ["sh", "-c", "echo built > app.txt; echo part one"], write: [app.txt], network: [], outputs: { text: stdout } }
  - { id: flaky, needs: [build], run: ["sh", "-c", "test -e again || { touch again; exit 75; }"], effect: pure, retry: { attempts: 3, backoff: 1ms..2ms } }
  - { id: review, title: "Ship it?", needs: [flaky], gate: approval }
  - { id: last, needs: [review], run: ["true"], effect: pure }
`

async function waiting(): Promise<void> {
  await here.write('release.yaml', RELEASE)
  expect(await here.planfold('run', 'release.yaml')).toMatchObject({ exit: 4 })
}

async function lived(): Promise<void> {
  await waiting()
  expect(await here.planfold('approve', 'release', 'review', '-m', 'looked at it')).toMatchObject({ exit: 0 })
  const ended = await here.planfold('resume', 'release')
  expect(ended).toMatchObject({ exit: 0 })
  expect(ended.stdout).toContain('handoff  planfold summary release --form handoff')
}

function keyFile(name = 'key', bytes = 'k'.repeat(32)): string {
  const path = join(elsewhere, name)
  writeFileSync(path, bytes, { mode: 0o600 })
  return path
}

/** Somebody else's hands in the file. */
function database<T>(work: (open: InstanceType<typeof DatabaseSync>) => T): T {
  const open = new DatabaseSync(join(here.folder, '.planfold', 'planfold.db'))
  open.exec('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON')
  try {
    return work(open)
  } finally {
    open.close()
  }
}

interface Row {
  readonly format: number
  readonly position: number
  readonly version: number
  readonly at: number
  readonly actor: string
  readonly fence: number | null
  readonly body: string | null
}

/** Changes a word in the journal and makes every hash behind it anew, as the format of the journal tells everybody how to. */
function rewriteAndRechain(from: string, to: string): void {
  database(open => {
    const plan = open.prepare('SELECT id FROM plans').get() as { id: string }
    const rows = open
      .prepare('SELECT format, position, version, at, actor, fence, body FROM entries ORDER BY version')
      .all() as unknown as readonly Row[]
    let previous = ''
    for (const { body, ...row } of rows) {
      const stored = { ...row, body: body?.replaceAll(from, to) ?? null, blob: null } as Omit<StoredEntry, 'hash'>
      previous = entryHash(previous, plan.id as never, stored)
      open
        .prepare('UPDATE entries SET body = ?, hash = ? WHERE version = ?')
        .run(stored.body, Buffer.from(previous, 'hex'), row.version)
    }
    open.exec('DELETE FROM folds')
  })
}

describe('planfold audit', () => {
  it('tells who asked, decided, ran and wrote what, each line with entry, time, actor and hash', async () => {
    await lived()
    const { lines, head, entries, fault } = (await here.json('audit', 'release')) as {
      lines: readonly AuditLine[]
      head: string
      entries: number
      fault: null
    }
    expect(fault).toBe(null)
    expect(lines.at(-1)).toMatchObject({ version: entries, hash: head, type: 'plan.finished' })
    const build = lines.find(line => line.type === 'attempt.started' && line.task === 'build')!
    expect(build.facts).toMatchObject({ resolved: true, argv: ['sh', '-c', 'echo built > app.txt; echo part one'] })
    const done = lines.find(line => line.type === 'attempt.succeeded' && line.task === 'build')!
    const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')
    expect(done.facts).toMatchObject({
      log: { sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      outputs: { text: hashOf(JSON.stringify('part one')) },
      wrote: { paths: 1, changes: expect.stringMatching(/^[0-9a-f]{64}$/) },
    })
    expect(lines.find(({ type }) => type === 'gate.decided')).toMatchObject({
      actor: 'ana@example.com',
      facts: { verdict: 'approved', rationale: 'looked at it' },
    })

    const text = await here.planfold('audit', 'release')
    expect(text).toMatchObject({ exit: 0, stderr: '' })
    expect(text.stdout).toContain(`the last is ${head}`)
    const jsonl = await here.planfold('audit', 'show', 'release', '--format', 'jsonl')
    expect(
      jsonl.stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as AuditLine),
    ).toEqual(lines)
    const markdown = await here.planfold('audit', 'release', '--format', 'markdown', '--since', '2026-01-01')
    expect(markdown.stdout).toMatch(/^# Audit trail of `release`\n\n\| entry \| time \|/)
    const none = await here.planfold('audit', 'release', '--since', '2999-01-01')
    expect(none.stdout.trim().split('\n')).toHaveLength(1)
    expect(await here.planfold('audit', 'release', '--since', 'soon')).toMatchObject({ exit: 2 })
  })

  it('stops at the entry somebody altered, and verify names it', async () => {
    await lived()
    expect(await here.json('audit', 'verify', '--all')).toMatchObject({
      ok: true,
      items: [{ name: 'release', fault: null }],
    })
    database(open =>
      open.exec(
        "UPDATE entries SET body = replace(body, 'looked at it', 'blessed it') WHERE body LIKE '%looked at it%'",
      ),
    )
    const verified = await here.planfold('audit', 'verify', 'release')
    expect(verified).toMatchObject({ exit: 1 })
    expect(verified.stdout).toMatch(/✖ release: tampered at entry (\d+)/)
    const audited = await here.planfold('audit', 'release')
    expect(audited.exit).toBe(1)
    expect(audited.stdout).not.toContain('blessed it')
    expect(await here.planfold('audit', 'seal', 'release', '--key-file', keyFile())).toMatchObject({ exit: 3 })
  })

  it('a chain that was made anew is whole, and only the seal finds out', async () => {
    await lived()
    const key = keyFile()
    const seal = join(elsewhere, 'seal.json')
    expect(await here.planfold('audit', 'seal', 'release', '--key-file', key, '--out', seal)).toMatchObject({ exit: 0 })
    expect(await here.planfold('audit', 'seal', 'release', '--key-file', key, '--out', seal)).toMatchObject({ exit: 3 })
    const check = ['audit', 'verify', '--seal', seal, '--key-file', key] as const
    expect(await here.json(...check)).toMatchObject({ ok: true, seals: [{ name: 'release', verdict: 'holds' }] })
    // What is written later changes nothing about what was sealed.
    await here.planfold('log', 'release', '--add', '-m', 'later')
    expect(await here.planfold(...check)).toMatchObject({ exit: 0 })

    rewriteAndRechain('looked at it', 'blessed it')
    expect(await here.planfold('audit', 'verify', 'release')).toMatchObject({ exit: 0 })
    expect((await here.planfold('audit', 'release')).stdout).toContain('blessed it')
    const caught = await here.planfold(...check)
    expect(caught.exit).toBe(1)
    expect(caught.stdout).toContain('it was rewritten after it was sealed')

    // Nor can the seal be made anew without the key, or with another.
    const forged = await here.json('audit', 'seal', 'release', '--key-file', keyFile('other', 'o'.repeat(32)))
    writeFileSync(seal, `${JSON.stringify(forged)}\n`)
    expect(await here.json(...check)).toMatchObject({ ok: false, seals: [{ verdict: 'forged' }] })
  })

  it('a journal that was cut off, or taken away, is missed', async () => {
    await lived()
    const key = keyFile()
    const sealed = await here.planfold('audit', 'seal', 'release', '--key-file', key)
    writeFileSync(join(elsewhere, 'seals.jsonl'), sealed.stdout)
    const check = ['audit', 'verify', '--seal', join(elsewhere, 'seals.jsonl'), '--key-file', key] as const
    database(open => {
      const { last } = open.prepare('SELECT max(version) AS last FROM entries').get() as { last: number }
      open.exec(`DELETE FROM entries WHERE version = ${last}; UPDATE heads SET reached = 1; DELETE FROM folds`)
    })
    expect(await here.json(...check)).toMatchObject({ ok: false, seals: [{ verdict: 'missing' }] })
    database(open => open.exec('DELETE FROM entries; DELETE FROM heads; DELETE FROM tasks; DELETE FROM plans'))
    expect(await here.json(...check)).toMatchObject({ ok: false, seals: [{ verdict: 'missing' }] })
  })

  it('a key beside the store, in the workspace, or open to others is refused', async () => {
    await waiting()
    for (const path of [join(here.folder, '.planfold', 'key'), join(here.folder, 'key')]) {
      writeFileSync(path, 'k'.repeat(32), { mode: 0o600 })
      const said = await here.planfold('audit', 'seal', 'release', '--key-file', path)
      expect(said).toMatchObject({ exit: 3, stdout: '' })
      expect(said.stderr).toContain("' is in ")
    }
    const open = keyFile()
    chmodSync(open, 0o644)
    expect((await here.planfold('audit', 'seal', 'release', '--key-file', open)).stderr).toContain('chmod 600')
    expect(await here.planfold('audit', 'verify', '--seal', open)).toMatchObject({ exit: 2 })
  })
})

describe('planfold summary --form handoff', () => {
  it('writes the same bytes every time, only when asked, and not over what others wrote', async () => {
    await lived()
    const before = await here.files()
    const printed = await here.planfold('summary', '--form', 'handoff', 'release')
    expect(printed).toMatchObject({ exit: 0, stderr: '' })
    expect(printed.stdout).toContain('# Postmortem')
    expect(printed.stdout).toContain('flaky` (attempt 1), transient')
    expect(await here.files()).toEqual(before)
    expect(await here.planfold('summary', '--form', 'handoff', 'release', '--write', 'out')).toMatchObject({ exit: 0 })
    const first = [await here.read('out/README.md'), await here.read('out/POSTMORTEM.md')]
    expect(await here.planfold('summary', '--form', 'handoff', 'release', '--write', 'out')).toMatchObject({ exit: 0 })
    expect([await here.read('out/README.md'), await here.read('out/POSTMORTEM.md')]).toEqual(first)
    expect(first[0]).toContain('Plan `release`: **completed**')
    await here.write('README.md', 'mine')
    expect(await here.planfold('summary', '--form', 'handoff', 'release', '--write', '.')).toMatchObject({ exit: 3 })
    expect(await here.read('README.md')).toBe('mine')
    expect(existsSync(join(here.folder, 'POSTMORTEM.md'))).toBe(false)
  })
})

describe('planfold summary and inbox', () => {
  it('tell what was done, what waits, and take the answer by its id, once', async () => {
    await waiting()
    const { items } = (await here.json('summary', '--since', '1h')) as { items: readonly Digest[] }
    expect(items).toMatchObject([
      {
        name: 'release',
        completed: [{ task: 'build' }, { task: 'flaky', attempts: 2 }],
        setbacks: [{ task: 'flaky', times: 1 }],
        waiting: [{ task: 'review' }],
        next: [{ task: 'last' }],
      },
    ])
    expect((await here.planfold('summary', 'release')).stdout).toMatch(/waits\s+review waits for approval, since/)

    const inbox = (await here.json('inbox')) as { items: readonly InboxEntry[] }
    const [item] = inbox.items
    expect(item).toMatchObject({ name: 'release', task: 'review', title: 'Ship it?', asks: { type: 'approval' } })
    expect((await here.json('inbox')) as object).toMatchObject({ items: [{ id: item!.id }] })
    const shown = await here.planfold('inbox')
    expect(shown.stdout).toContain(item!.id)
    expect(shown.stdout).toContain('planfold approve release review')

    expect(await here.planfold('inbox', 'answer', item!.id, 'done')).toMatchObject({ exit: 2 })
    expect(await here.planfold('inbox', 'answer', 'zzzzzzzz', 'approve')).toMatchObject({ exit: 2 })
    const answered = await here.planfold('inbox', 'answer', item!.id, 'approve', '-m', 'looked at it')
    expect(answered).toMatchObject({ exit: 0 })
    const late = await here.planfold('inbox', 'answer', item!.id, 'reject', '-m', 'changed my mind')
    expect(late.exit).toBe(3)
    expect(late.stderr).toContain('review approved by ana@example.com: looked at it (ana@example.com')
    expect(await here.json('inbox')).toMatchObject({ items: [] })
    const { lines } = (await here.json('audit', 'release')) as { lines: readonly AuditLine[] }
    expect(lines.filter(({ type }) => type === 'gate.decided')).toHaveLength(1)
  })

  it('tell of the other plans when the journal of one is damaged', async () => {
    for (const name of ['broken', 'sound']) {
      await here.write(`${name}.yaml`, `planfold: 1\nname: ${name}\ntasks: [{ id: review, gate: approval }]\n`)
      expect(await here.planfold('run', `${name}.yaml`)).toMatchObject({ exit: 4 })
    }
    database(open => open.exec("UPDATE entries SET actor = 'eve' WHERE plan_no = 1 AND version = 2"))
    const waits = { items: [{ name: 'sound' }], unreadable: [{ name: 'broken' }] }
    expect(await here.json('inbox')).toMatchObject(waits)
    expect(await here.json('summary')).toMatchObject(waits)
    expect(await here.json('audit', 'verify', '--all')).toMatchObject({
      ok: false,
      items: [
        { name: 'broken', entries: 1, fault: { kind: 'tampered', version: 2 } },
        { name: 'sound', fault: null },
      ],
    })
  })
})
