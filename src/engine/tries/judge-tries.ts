// Asks the judge of a race which of the tries that pass equally well is the best, and what it lacks if another round follows.

import type { JsonObject } from '../../domain/json.ts'
import type { ModelUse } from '../../domain/model-use.ts'
import { isConfidential } from '../../domain/plan-rules/confidential.ts'
import { finalists, placeOf, type Race, type TriesVerdict } from '../../domain/tries/race.ts'
import type { Attempt, ModelReport } from '../../runners/runner.ts'
import type { AttemptRun } from '../attempts/attempt-run.ts'
import { askJudge } from '../judges/ask-judge.ts'
import { briefText, diffText, marked, redactFor } from '../judges/judged-work.ts'
import { readChanges } from '../rollback/attempt-changes.ts'

const SHOWN_MAX = 18_000
const SAYS_MAX = 2_000

const ANSWER: JsonObject = { best: 'integer', why: 'string', 'improve?': 'string' }

/** Without a question, or without a usable answer, the size of the difference decides. */
export async function judgeTries(
  run: AttemptRun,
  attempt: Attempt,
  race: Race,
): Promise<{ readonly judge?: TriesVerdict } | { readonly interrupted: string }> {
  const { rooms, state, task } = run
  const { judge, rounds = 1 } = task.definition.tries ?? {}
  const left = finalists(race)
  const isLast = race.round >= rounds
  if (judge === undefined || left.length < (isLast ? 2 : 1)) return {}
  const by = typeof judge.by === 'string' ? judge.by : JSON.stringify(judge.by)
  if (isConfidential(state.definition, task.definition))
    return { judge: { by, best: null, says: 'not asked: the task is labelled confidential' } }
  const redact = await redactFor(rooms, state)
  const brief = redact(await briefText(state, task))
  const shows = [{ title: 'The task', text: marked(attempt.task, 'its brief', brief, SAYS_MAX) }]
  for (const [at, { changes }] of left.entries()) {
    const max = Math.floor(SHOWN_MAX / left.length)
    const text = await diffText(rooms, changes === null ? [] : await readChanges(rooms, changes), max, redact)
    shows.push({ title: `Change ${at + 1}`, text: marked(attempt.task, `change ${at + 1}`, text, max) })
  }
  const asked = await askJudge(run, attempt, {
    by: judge.by,
    name: `tries-${race.round}`,
    instruction: [
      `${left.length} changes were made for the same task, independently. All of them pass its checks. Which one is the best?`,
      judge.instruction ??
        'The best one does what the task says, all of it and nothing else, and is the easiest to read.',
      'Answer with the number of the change as `best`, and in a sentence why.',
      ...(isLast
        ? []
        : ['If it can be improved, say in `improve` what is missing; leave `improve` out if nothing is.']),
    ].join('\n'),
    shows,
    answer: ANSWER,
  })
  if (!asked.ok && 'interrupted' in asked) return asked
  const model = asked.model === undefined ? {} : { model: await storedUse(run, asked.model) }
  if (!asked.ok) return { judge: { by, best: null, says: `no answer: ${asked.failure.message}`, ...model } }
  const { best, why, improve } = asked.answer
  const chosen = typeof best === 'number' ? left[best - 1] : undefined
  const says = typeof why === 'string' ? redact(why).slice(0, SAYS_MAX) : ''
  const more =
    typeof improve === 'string' && improve.trim() !== '' ? { improve: redact(improve).slice(0, SAYS_MAX) } : {}
  if (chosen === undefined) return { judge: { by, best: null, says: `no such change: ${String(best)}`, ...model } }
  return { judge: { by, best: placeOf(chosen), says, ...more, ...model } }
}

async function storedUse({ rooms }: AttemptRun, { use, recording }: ModelReport): Promise<ModelUse> {
  return { ...use, recording: await rooms.store.blobs.put(Buffer.from(JSON.stringify(recording))) }
}
