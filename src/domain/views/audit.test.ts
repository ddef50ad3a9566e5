import { describe, expect, it } from 'vitest'
import { external, gate, type Journal, name, numberedSha, plan, started, task } from '../../testing/index.ts'
import { type AuditLine, AuditReader } from './audit.ts'

const hashOf = (value: unknown) => `h:${JSON.stringify(value)}` as never

function trail(journal: Journal): readonly AuditLine[] {
  const reader = new AuditReader(hashOf)
  return journal.entries.flatMap(entry => reader.read({ ...entry, hash: numberedSha(entry.version) }))
}

describe('the audit trail', () => {
  const journal = started(
    plan(
      'p',
      task('build', { action: { type: 'run', command: { argv: ['make', 'all'] } } }),
      task('say', {
        needs: ['build'],
        action: { type: 'run', command: { argv: ['echo', '${{ tasks.build.outputs.x }}'] } },
      }),
      gate('review', { needs: ['say'] }),
    ),
  )
  journal.succeed('build', {
    exit: 0,
    log: { sha256: numberedSha(7), bytes: 3 },
    outputs: { x: 'secret', file: { artifact: numberedSha(8) } },
    wrote: { changes: numberedSha(9), paths: 2 },
  })
  journal.succeed('say', { inputHash: numberedSha(6) })
  journal.ask('review')
  journal.submit({ type: 'decide', task: name('review'), verdict: 'approved', rationale: 'fine' }, 'ana')
  const lines = trail(journal)
  const find = (type: string, of?: string) =>
    lines.find(line => line.type === type && (of === undefined || line.task === of))!

  it('names entry, time, actor and hash on every line', () => {
    for (const { version, at, actor, hash } of lines) {
      const entry = journal.entries[version - 1]!
      expect({ version, at, actor, hash }).toEqual({
        version: entry.version,
        at: entry.now,
        actor: entry.actor,
        hash: numberedSha(entry.version),
      })
    }
  })

  it('tells what was run, and whether that is all that was run', () => {
    expect(find('attempt.started', 'build')).toMatchObject({
      kind: 'attempt',
      facts: { argv: ['make', 'all'], resolved: true },
    })
    expect(find('attempt.started', 'build').text).toContain('["make","all"]')
    expect(find('attempt.started', 'say').facts).toMatchObject({ resolved: false })
    expect(find('attempt.succeeded', 'say').facts).toMatchObject({ inputHash: numberedSha(6) })
  })

  it('names outputs by their hash and never by their value', () => {
    expect(find('attempt.succeeded', 'build').facts).toMatchObject({
      exit: 0,
      log: { sha256: numberedSha(7), bytes: 3 },
      outputs: { x: 'h:"secret"', file: numberedSha(8) },
      wrote: { changes: numberedSha(9), paths: 2 },
    })
    expect(JSON.stringify(lines.filter(({ type }) => type === 'attempt.succeeded')).includes('"secret"')).toBe(false)
  })

  it('tells who decided what, why, and on what', () => {
    expect(find('gate.opened').facts).toEqual({ asks: 'approval', on: numberedSha(7) })
    expect(find('gate.decided')).toMatchObject({
      actor: 'ana',
      kind: 'decision',
      facts: { verdict: 'approved', rationale: 'fine', on: numberedSha(7) },
    })
    expect(find('decide')).toMatchObject({ kind: 'command', actor: 'ana', text: 'asked: decide review approved' })
  })

  it('tells what people asked, not the turns of the loop, and gives no token away', () => {
    expect(lines.some(({ type }) => type === 'turn')).toBe(false)
    const held = started(plan('q', external('call')))
    held.must({ type: 'claim', token: 'token-of-ana', by: 'ana' })
    const told = trail(held)
    expect(told.find(({ type }) => type === 'claim')).toMatchObject({ kind: 'command', facts: { by: 'ana' } })
    expect(told.find(({ type }) => type === 'attempt.started')!.facts).toMatchObject({ claimedBy: 'ana' })
    expect(JSON.stringify(told)).not.toContain('token-of-ana')
  })
})
