// `planfold token create NAME`: a token for somebody else, printed once and kept only as its hash.

import { randomBytes } from 'node:crypto'
import type { Composed } from '../../compose.ts'
import type { PlanId } from '../../domain/id.ts'
import { makeToken } from '../../server/token-book.ts'
import type { Role, Scope } from '../../server/who.ts'
import { answer, remark } from '../answer.ts'
import { type Context, withState } from '../context.ts'
import { Complaint, EXIT } from '../exit.ts'
import { meantPlan } from '../meant.ts'

export interface CreateOptions {
  readonly role: Role
  /** Milliseconds. */
  readonly expires?: number
  readonly plan?: readonly string[]
  readonly session?: readonly string[]
}

export async function tokenCreate(context: Context, name: string, options: CreateOptions): Promise<number> {
  return await withState(context, { create: true }, async composed => {
    const createdAt = composed.now()
    const expiresAt = options.expires === undefined ? null : createdAt + options.expires
    const scope = await scopeOf(composed, options)
    const made = await makeToken(
      composed.stateDir,
      { name, role: options.role, scope, createdAt, expiresAt, owner: composed.actor },
      randomBytes,
    )
    if (!made.ok) {
      const [exit, code] = made.exists ? ([EXIT.refused, 'exists'] as const) : ([EXIT.usage, 'usage'] as const)
      throw new Complaint(exit, code, made.message, made.hint)
    }
    const { sha256: _, ...told } = made.token
    answer(context, { ...told, token: made.secret }, () => made.secret)
    remark(context, `this is the only time it is shown; revoke it with: planfold token revoke ${name}`)
    return EXIT.done
  })
}

async function scopeOf({ engine }: Composed, { plan, session }: CreateOptions): Promise<Scope | null> {
  if (plan === undefined && session === undefined) return null
  const plans: PlanId[] = []
  for (const word of plan ?? []) plans.push((await meantPlan(engine, word)).plan)
  return { plans, sessions: session ?? [] }
}
