// `planfold serve token create|list|revoke|link`: who may use the service.

import { randomBytes } from 'node:crypto'
import type { Composed } from '../../../compose.ts'
import type { PlanId } from '../../../domain/id.ts'
import { deny, type Role, type Scope } from '../../../engine/roles.ts'
import { CODE_MS, keepCode, newCode } from '../../../server/auth/browser-sign-in.ts'
import {
  listTokens,
  makeToken,
  ownerSecret,
  revokeToken,
  sha256Of,
  type Token,
} from '../../../server/auth/token-file.ts'
import { listRunning } from '../../../server/monitoring/running-services.ts'
import { answer, CliError, type Context, EXIT, notFound, printNote, refused, withState } from '../../command.ts'
import { findPlan } from '../../find-target.ts'
import { table } from '../../terminal/table.ts'

export async function tokenList(context: Context): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ stateDir }) => {
    const items = listTokens(stateDir).map(({ sha256: _, ...token }) => token)
    answer(context, { items }, () => {
      const { paint, terminal } = context
      if (items.length === 0) return "no tokens except the owner's. Next: planfold serve token create NAME"
      const rows = items.map(item => [item.name, item.role, scopeWords(item), untilWords(item, context.now())])
      return table(paint, ['name', 'role', 'plans', 'expires'], rows, terminal?.columns() ?? null)
    })
    return EXIT.done
  })
}

const scopeWords = ({ scope }: Pick<Token, 'scope'>): string =>
  scope === null ? 'all' : [...(scope.plans ?? []), ...(scope.sessions ?? [])].join(', ')

function untilWords({ expiresAt }: Pick<Token, 'expiresAt'>, now: number): string {
  if (expiresAt === null) return 'never'
  const at = new Date(expiresAt).toISOString()
  return expiresAt <= now ? `expired ${at}` : at
}

export interface CreateOptions {
  readonly role: Role
  readonly expires?: number
  readonly plan?: readonly string[]
  readonly session?: readonly string[]
}

export async function tokenCreate(context: Context, name: string, options: CreateOptions): Promise<number> {
  return await withState(context, { create: true }, async composed => {
    mayAdminister(composed)
    const createdAt = composed.now()
    const expiresAt = options.expires === undefined ? null : createdAt + options.expires
    const scope = await scopeOf(composed, options)
    const made = await makeToken(
      composed.stateDir,
      { name, role: options.role, scope, createdAt, expiresAt, owner: composed.engine.caller.actor },
      randomBytes,
    )
    if (!made.ok) {
      const [exit, code] = made.exists ? ([EXIT.refused, 'exists'] as const) : ([EXIT.usage, 'usage'] as const)
      throw new CliError(exit, code, made.message, made.hint)
    }
    const { sha256: _, ...shown } = made.token
    answer(context, { ...shown, token: made.secret }, () => made.secret)
    printNote(context, `it is shown only once. To revoke it: planfold serve token revoke ${name}`)
    return EXIT.done
  })
}

/** A token can be used by anybody who has it, so the shell of an agent gets none. */
function mayAdminister({ engine: { caller } }: Composed): void {
  if (!caller.rights.has('administer')) throw refused(deny(caller, 'administer'))
}

async function scopeOf({ engine }: Composed, { plan, session }: CreateOptions): Promise<Scope | null> {
  if (plan === undefined && session === undefined) return null
  const plans: PlanId[] = []
  for (const word of plan ?? []) plans.push((await findPlan(engine, word)).plan)
  return { plans, sessions: session ?? [] }
}

export async function tokenRevoke(context: Context, name: string): Promise<number> {
  return await withState(context, { create: false }, async ({ stateDir }) => {
    if (!(await revokeToken(stateDir, name)))
      throw notFound(`there is no token '${name}'`, 'see `planfold serve token list`')
    answer(context, { revoked: name }, () => `${name} is revoked`)
    return EXIT.done
  })
}

export async function tokenLink(context: Context, name: string | undefined): Promise<number> {
  return await withState(context, { create: false }, async composed => {
    mayAdminister(composed)
    const { stateDir } = composed
    const services = listRunning(stateDir)
    const running = services.find(({ auth }) => auth) ?? services[0]
    if (running === undefined)
      throw new CliError(EXIT.refused, 'not-running', 'no server is running on this store', 'start one: planfold serve')
    if (!running.auth)
      throw new CliError(
        EXIT.refused,
        'no-auth',
        'the server was started with --no-auth, so no login link is needed',
        `open ${running.address}`,
      )
    const code = newCode(randomBytes)
    const expiresAt = context.now() + CODE_MS
    await keepCode(stateDir, code, { token: await hashOf(stateDir, name), until: expiresAt }, context.now())
    const link = `${running.address}/#code=${code}`
    answer(context, { link, expiresAt }, () => link)
    printNote(context, 'it works once, within 10 minutes')
    return EXIT.done
  })
}

async function hashOf(stateDir: string, name: string | undefined): Promise<string> {
  if (name !== undefined) {
    const token = listTokens(stateDir).find(one => one.name === name)
    if (token === undefined) throw notFound(`there is no token '${name}'`, 'see `planfold serve token list`')
    return token.sha256
  }
  const owner = await ownerSecret(stateDir, randomBytes)
  if (!owner.ok) throw new CliError(EXIT.refused, 'token', owner.message, owner.hint)
  return sha256Of(owner.secret)
}
