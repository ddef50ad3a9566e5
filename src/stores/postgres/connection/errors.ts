// What the driver and the server throw, as errors of the store: what happened, why, and what to do. Nothing of the driver passes on: its
// errors may hold the address with its password.

import type { Hint } from '../../../domain/hint.ts'
import { StoreBusy, StoreDamaged, StoreFull, StoreRefused } from '../../store.ts'

/** The connection broke, or none could be made. The same question may be asked again on a new one. */
export class Unreachable extends StoreBusy {
  readonly hint: Hint = 'see whether the server runs and the network works; what was acknowledged is stored'
}

/** The server answered with an error that only the caller can interpret. */
export class Answered extends Error {
  readonly state: string
  constructor(message: string, state: string) {
    super(`the database refused a statement: ${message} (SQLSTATE ${state})`)
    this.state = state
  }
}

interface Thrown {
  readonly message?: string
  readonly code?: string
}

/** `where` names the database without its password. */
export function plainError(thrown: unknown, where: string): Error {
  if (thrown instanceof StoreRefused || thrown instanceof Unreachable || thrown instanceof Answered) return thrown
  const { code = '', message = '' } = thrown as Thrown
  const away = AWAY[code] ?? LOST.find(([words]) => words.test(message))?.[1]
  if (away !== undefined) return new Unreachable(`${where} cannot be reached: ${away}`)
  if (/password must be a|no password/.test(message))
    return new StoreRefused(`${where} asks for a password, and there is none`, PASSWORD)
  if (code in REFUSED) {
    const { why, hint } = REFUSED[code]!
    return new StoreRefused(`${where} ${why}${code === '42501' ? `: ${message}` : ''}`, hint)
  }
  if (code === '53100') return new StoreFull(`the disk of ${where} is full`)
  if (code === '57014' || code === '55P03')
    return Object.assign(new StoreBusy(`${where} ended a statement that took longer than it allows`), {
      hint: 'try again; if it happens often, raise `statement_timeout` or `lock_timeout` of this user',
    })
  if (/^XX00[12]$/.test(code)) return new StoreDamaged(`${where} reports damaged data: ${message}`)
  if (/^[0-9A-Z]{5}$/.test(code)) return new Answered(message, code)
  return thrown instanceof TypeError && 'input' in thrown
    ? new StoreRefused('the address of the database cannot be read', 'write postgres://user@host:5432/database')
    : (thrown as Error)
}

const PASSWORD =
  'set PGPASSWORD, add a line to .pgpass, or write it in the address: postgres://user:password@host/database'

/** By the code of the system, or by SQLSTATE. */
const AWAY: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at this address',
  ENOENT: 'nothing listens at this address',
  ENOTFOUND: 'its host is not known',
  EAI_AGAIN: 'its host is not known',
  EHOSTUNREACH: 'there is no way to its host',
  ENETUNREACH: 'there is no way to its host',
  ETIMEDOUT: 'it did not answer in time',
  ECONNRESET: 'the connection broke',
  EPIPE: 'the connection broke',
  '08000': 'the connection broke',
  '08003': 'the connection broke',
  '08006': 'the connection broke',
  '57P01': 'it is shutting down',
  '57P02': 'it is restarting after a crash',
  '57P03': 'it is starting or shutting down',
  '57P05': 'it ended the connection, which was idle',
  '53300': 'it has as many connections as it allows (raise `max_connections`, or stop other programs)',
}

/** The driver has no codes for these. */
const LOST: readonly (readonly [RegExp, string])[] = [
  [/^timeout expired|^Query read timeout|due to connection timeout/, 'it did not answer in time'],
  [/^Connection terminated|is not queryable/, 'the connection broke'],
]

const REFUSED: Readonly<Record<string, { readonly why: string; readonly hint: Hint }>> = {
  '28P01': { why: 'refused the password', hint: PASSWORD },
  '28000': { why: 'does not let this user in', hint: 'look at the name of the user, and at pg_hba.conf of the server' },
  '3D000': { why: 'does not exist', hint: 'make it with `createdb`, or name another database' },
  '25006': { why: 'can only be read: it is a replica, or set to read-only', hint: 'name the primary server' },
  '42501': {
    why: 'refuses a right to this user',
    hint: 'for daily work, set both PLANFOLD_DATABASE and PLANFOLD_DATABASE_APPEND as an administrator gets them (command `migrate`); to fill a database, be its administrator',
  },
}
