// `planfold names KIND [PLAN]`: what the shell may complete, a name on each line. Nothing is said where there is nothing to say.

import type { PlanId } from '../../domain/id.ts'
import type { Engine } from '../../engine/engine.ts'
import { answer } from '../answer.ts'
import type { NameKind } from '../completion.ts'
import { type Context, withState } from '../context.ts'
import { EXIT } from '../exit.ts'
import { openPlans } from '../meant.ts'

/** A shell asks at every press of a key. */
const NAMES_MAX = 500
/** Names in other characters are typed by hand: a shell would read more into them. */
const PLAIN = /^[A-Za-z0-9][A-Za-z0-9._/:-]*$/

export async function names(context: Context, kind: NameKind, word: string | undefined): Promise<number> {
  const found = await withState(context, { create: false, reading: true }, ({ engine }) =>
    namesOf(engine, kind, word),
  ).catch(() => [])
  const items = found.filter(name => PLAIN.test(name)).slice(0, NAMES_MAX)
  answer(context, { items }, () => items)
  return EXIT.done
}

async function namesOf(engine: Engine, kind: NameKind, word: string | undefined): Promise<readonly string[]> {
  if (kind === 'plan') return await plans(engine)
  const plan = await planFor(engine, word)
  if (kind === 'meant') return [...(await plans(engine)), ...(plan === null ? [] : await tasks(engine, plan))]
  if (plan === null) return []
  const points = async () =>
    ((await engine.ask({ type: 'checkpoints', plan })) ?? []).map(({ name }) => name).toReversed()
  if (kind === 'checkpoint') return await points()
  return kind === 'task' ? await tasks(engine, plan) : [...(await tasks(engine, plan)), ...(await points())]
}

const plans = async (engine: Engine): Promise<readonly string[]> =>
  (await engine.ask({ type: 'plans', archived: false, limit: 200 })).items.map(({ name }) => name)

const tasks = async (engine: Engine, plan: PlanId): Promise<readonly string[]> =>
  ((await engine.ask({ type: 'board', plan })) ?? []).map(({ name }) => name)

/** The plan that was named, else the only one that is open. */
async function planFor(engine: Engine, word: string | undefined): Promise<PlanId | null> {
  const found = word === undefined ? null : await engine.ask({ type: 'find', reference: word })
  if (found !== null) return found.plan
  const open = await openPlans(engine)
  return open.length === 1 ? open[0]!.id : null
}
