// Which tasks somebody means by what they write under `depends_on`: tasks of the same plan, by id or by name.

import { isTaskName, isUuid, type PlanId, type TaskName } from '../domain/id.ts'
import type { Fault } from '../format/wire/wire.ts'
import type { Call } from './call.ts'

/** Names are not looked up here: whether they are there is for the plan to say, when it changes. */
export async function needsMeant(
  { rooms: { engine } }: Pick<Call<unknown, unknown>, 'rooms'>,
  plan: PlanId,
  words: string | readonly string[] | null | undefined,
  path: string,
): Promise<{ readonly needs: readonly TaskName[]; readonly faults: readonly Fault[] }> {
  const needs = new Set<TaskName>()
  const faults: Fault[] = []
  for (const word of words == null ? [] : typeof words === 'string' ? [words] : words) {
    const found = isUuid(word) ? await engine.ask({ type: 'find', reference: word }) : null
    if (found !== null && found.plan === plan && found.task !== null) needs.add(found.task)
    else if (isTaskName(word)) needs.add(word)
    else faults.push({ path, message: `no task of the plan is called '${word.slice(0, 100)}'`, hint: HINT })
  }
  return { needs: [...needs], faults }
}

const HINT = 'name tasks of the same plan, by id or name'
