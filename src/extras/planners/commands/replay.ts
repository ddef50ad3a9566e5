// `planfold plan --replay PLAN`: drafts a plan again from the recording of its drafting, without a request to a model, and says whether
// the same plan comes out.

import { answer, CliError, type Context, EXIT, withState } from '../../../cli/command.ts'
import { findPlan } from '../../../cli/find-target.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { explainDiff } from '../../../format/plan/diff-text.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { recordedDraft, replayDraft } from '../goals/replay-draft.ts'
import { openPlanners, openRepository } from '../open-planners.ts'
import { PlanningFailure } from '../planner.ts'

export async function replay(context: Context, word: string): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine, models, root, stateDir }) => {
    const { environment } = context
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const recorded = await recordedDraft(engine, plan)
    if (recorded === null)
      throw new CliError(
        EXIT.refused,
        'no-recording',
        `'${name}' has no recording of its drafting`,
        'only a plan that a model drafted has one, of up to 2 MB',
      )
    const { recording, revision, commit } = recorded
    const planner = openPlanners({ models, stateDir, replay: recording }).get('model')!
    const repository = openRepository({ root, stateDir, environment })
    const replayed = await replayDraft({ planner, repository }, recorded).catch((error: unknown) => {
      if (!(error instanceof PlanningFailure)) throw error
      const { code = 'planning', message } = error.failure
      throw new CliError(EXIT.failed, code, `'${name}' could not be drafted again: ${message}`, changedHint(commit))
    })
    const { same, exchanges, diff } = replayed
    const data = { plan, name, revision, model: recording.model, same, requests: 0, exchanges, diff }
    answer(context, data, () => [
      `${name}: ${numberOf(exchanges, 'answer')} of ${recording.model} replayed, nothing was sent`,
      ...(same
        ? [`the same plan came out (revision ${revision})`]
        : [
            `another plan came out than revision ${revision}; ${changedHint(commit)}`,
            '',
            ...escapeForTerminal(explainDiff(diff), { keepLines: true }).split('\n'),
          ]),
    ])
    return same ? EXIT.done : EXIT.failed
  })
}

const changedHint = (commit: string | null): string =>
  `the files must be as they were when it was drafted${commit === null ? '' : ` (commit ${commit.slice(0, 12)})`}`
