import { CommanderError } from 'commander'
import { describe, expect, it } from 'vitest'
import { NoState } from '../compose.ts'
import { refuse } from '../domain/refusal.ts'
import { PLAN_STATUSES } from '../domain/status.ts'
import { BadCursor, StoreBusy, StoreDamaged, StoreFull, StoreGone, StoreRefused } from '../stores/store.ts'
import { CliError, complaintOf, EXIT, exitOf, notConfirmed, refused } from './exit.ts'

describe('exit codes', () => {
  it('say how the plan stands', () => {
    expect(PLAN_STATUSES.map(status => [status, exitOf(status)])).toEqual([
      ['draft', 4],
      ['active', 4],
      ['paused', 4],
      ['blocked', 4],
      ['completed', 0],
      ['failed', 1],
      ['cancelled', 1],
    ])
  })

  it('tell bad input from a refusal', () => {
    expect(refused(refuse('not-found', 'x')).exit).toBe(EXIT.usage)
    expect(refused(refuse('cycle', 'x')).exit).toBe(EXIT.usage)
    expect(refused(refuse('conflict', 'x', 'do that')).exit).toBe(EXIT.refused)
    expect(refused(refuse('not-ready', 'x')).exit).toBe(EXIT.refused)
    // Whatever the command: a question that nobody is there to answer is a refusal.
    expect(notConfirmed('x', 'add --yes').exit).toBe(EXIT.refused)
  })

  it('know every error a room throws, each with a hint', () => {
    const thrown = [
      new NoState('x'),
      new StoreRefused('x', 'own hint'),
      new StoreBusy('x'),
      new StoreFull('x'),
      new StoreDamaged('x'),
      new BadCursor('x'),
      new StoreGone('x'),
      Object.assign(new Error('x'), { code: 'ENOENT', syscall: 'mkdir' }),
    ]
    const complaints = thrown.map(error => complaintOf(error))
    expect(complaints.map(complaint => complaint?.exit)).toEqual([2, 3, 3, 3, 3, 2, 3, 3])
    expect(complaints.every(complaint => complaint !== null && complaint.hint !== null && complaint.hint !== '')).toBe(
      true,
    )
    expect(complaints[1]?.hint).toBe('own hint')
  })

  it('turn a slip on the command line into a suggestion', () => {
    const complaint = complaintOf(
      new CommanderError(1, 'commander.unknownCommand', "error: unknown command 'statu'\n(Did you mean status?)"),
    )
    expect(complaint).toMatchObject({ exit: 2, message: "unknown command 'statu'", hint: "did you mean 'status'?" })
  })

  it('take a full disk for what it is, and everything unknown for a bug', () => {
    expect(complaintOf(Object.assign(new Error('no space left'), { code: 'ENOSPC', syscall: 'write' }))?.exit).toBe(
      EXIT.refused,
    )
    expect(complaintOf(new TypeError('undefined is not a function'))).toBeNull()
    expect(complaintOf('thrown text')).toBeNull()
    expect(complaintOf(new CliError(3, 'x', 'y'))?.exit).toBe(3)
  })
})
